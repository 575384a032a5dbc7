from uuid import UUID

import asyncpg
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shared import statements
from shared.text.document import PROJECT_MARK, prepare, project_lexeme
from shared.text.normaliser import (
    LEXEMES_MAX,
    QUERY_TERMS_MAX,
    QueryRows,
    QueryTerm,
    document_terms,
    query_rows,
    query_terms,
)
from shared.text.stopwords import ENGLISH
from shared.text.tokens import Alternative, analyse

ASKED = statements.load("retrieval")["asked"]
TSVECTOR = "SELECT to_tsvector('pg_catalog.english', $1::text) || array_to_tsvector($2::text[])"
PROJECT = UUID("0192f0c1-2b3c-7d4e-8f50-123456789abc")
ANY = "any"
ALL = "all"

# document, query, which of the two queries matches: all terms (and so any), any only, or none
CASES = [
    # plain english
    ("Deployments are running on Fridays", "deploy running friday", ALL),
    ("Deployments are running on Fridays", "deploy on monday", ANY),
    ("Deployments are running on Fridays", "what is the", None),
    ("Deployments are running on Fridays", "database", None),
    ("We don't cache user's sessions", "user session cache", ALL),
    ("Written in C and Go", "C", ALL),
    # identifiers
    ("call getUserById first", "getUserById", ALL),
    ("call getUserById first", "getuserbyid", ALL),
    ("call getUserById first", "get_user_by_id", ALL),
    ("call getUserById first", "get user by id", ALL),
    ("call getUserById first", "user", ALL),
    ("fetch the user by its id, get it fast", "getUserById", ALL),
    ("call getUserById first", "getUserByName", None),
    ("rows are locked with FOR_UPDATE", "forUpdate", ALL),
    ("rows are locked by SELECT FOR UPDATE", "FOR_UPDATE", ALL),
    ("rows are locked with FOR_UPDATE", "update lock", ALL),
    ("set max_connections to 50", "maxConnections", ALL),
    ("set max_connections to 50", "max connection", ALL),
    ("the HTTPServer restarts", "http server", ALL),
    ("the HTTPServer restarts", "HttpServer", ALL),
    ("the front-end build", "frontend", ALL),
    ("the frontends build", "front-end", ALL),
    ("userIDs are integers", "user id", ALL),
    ("__init__ must stay empty", "__init__", ALL),
    # acronyms
    ("JWTs expire after an hour", "jwt", ALL),
    ("JWTs expire after an hour", "jwts", ALL),
    ("a JWT expires", "JWTs", ALL),
    ("a JWT expires", "jwts", ALL),
    ("all APIs are versioned", "api", ALL),
    ("hosted on AWS", "aws", ALL),
    ("ask the IT department", "IT department", ALL),
    ("it is in the department", "IT department", ANY),
    # dotted names, paths, urls
    ("sqlalchemy raised a.b.DetachedInstanceError", "DetachedInstanceError", ALL),
    ("sqlalchemy raised a.b.DetachedInstanceError", "detached instance", ALL),
    ("sqlalchemy raised DetachedInstanceError", "sqlalchemy.orm.exc.DetachedInstanceError", ALL),
    ("std::vec::Vec grows", "std::vec", ALL),
    ("timeouts live in src/net/http_client.py", "http_client.py", ALL),
    ("timeouts live in src/net/http_client.py", "src/net/http_client.py", ALL),
    ("timeouts live in src/net/http_client.py", "HttpClient", ALL),
    ("timeouts live in http_client.py", "src/net/http_client.py", ALL),
    ("timeouts live in src/net/http_client.py", "src/net/http_server.py", None),
    (r"logs are in C:\app\logs\today.txt", "today.txt", ALL),
    ("secrets come from .env", ".env", ALL),
    ("see https://docs.example.com/guide?page=2#top", "docs.example.com", ALL),
    ("see https://docs.example.com/guide", "https://docs.example.com/guide/", ALL),
    ("install @scope/package", "@scope/package", ALL),
    ("read/write splitting", "write", ALL),
    # versions, numbers, codes
    ("needs Python 3.11", "python 3.11", ALL),
    ("needs python3.11", "Python 3.11", ALL),
    ("needs Python 3.11.4", "3.11", ALL),
    ("needs Python 3.12", "3.11", None),
    ("needs 3 workers and 11 queues", "3.11", None),
    ("released v2.3.1", "2.3.1", ALL),
    ("released 2.3.1", "v2.3.1", ALL),
    ("numpy>=1.8 is needed", "1.8", ALL),
    ("pinned 2.0.0-rc1", "2.0.0", ALL),
    ("fails with E1234", "e1234", ALL),
    ("fails with E1234", "1234", ALL),
    ("fails with 1234", "E1234", None),
    ("fails with E1234", "E1235", None),
    ("HTTP 404 is cached", "404", ALL),
    ("at most 1,000 rows", "1000", ALL),
    ("listens on port -3", "3", ALL),
    ("ticket JIRA-123 is done", "jira 123", ALL),
    ("files are utf-8", "utf8", ALL),
    ("broken since 3e10abc9d2f1a0bb3e10abc9d2f1a0bb3e10abc9", "3e10abc", ALL),
    ("since 2026-01-05", "2026-01-05", ALL),
    # flags and languages
    ("never use --no-verify", "--no-verify", ALL),
    ("never use --no-verify", "no-verify", ALL),
    ("we verify the users", "--no-verify", None),
    ("pass -v for more", "-v", ALL),
    ("pass -v for more", "-V", None),
    ("written in C++", "C++", ALL),
    ("written in C++", "C", None),
    ("written in C", "C++", None),
    ("written in C#", "c#", ALL),
    # accents and other scripts
    ("die Größe der Tabelle", "Größe", ALL),
    ("die Größe der Tabelle", "Grosse", ALL),
    ("die Größe der Tabelle", "Grösse", ALL),
    ("die Größe der Tabelle", "GROESSE", ALL),
    ("die Groesse der Tabelle", "Größe", ALL),
    ("la configuración de sesión", "configuracion sesion", ALL),
    ("ИСПОЛЬЗУЕМ кэш", "используем", ALL),
    ("डेटाबेस का उपयोग", "डेटाबेस", ALL),
    ("データベースの接続設定を変更する", "データベース", ALL),
    ("データベースの接続設定を変更する", "接続設定の変更", ALL),
    ("部署使用PostgreSQL数据库连接池", "数据库", ALL),
    ("部署使用PostgreSQL数据库连接池", "postgresql", ALL),
    ("黒猫が好き", "猫", ALL),
    ("部署使用数据库", "缓存", None),
    ("데이터베이스를 사용한다", "데이터베이스는", ALL),
    ("ใช้ฐานข้อมูลร่วมกัน", "ฐานข้อมูล", ALL),
    ("the ﬁle in ＡＢＣ", "file abc", ALL),
    # no query is syntax
    ("plain text", "plain & text | !", ALL),
    ("plain text", "plain' & 'x", ANY),
    ("plain text", "pla:* <-> text", ANY),
    ("plain text", "!plain", ALL),
    ("plain text", "''' \\ \\' :*", None),
]


async def lexical_matches(connection: asyncpg.Connection, document: str, query: str) -> str | None:
    held = prepare(PROJECT, document)
    asked = query_rows(query_terms(query))
    tsvector = await connection.fetchval(TSVECTOR, held.plain, held.lexemes)
    queries = await tsqueries(connection, asked)
    held_terms = await connection.fetchval(
        "SELECT array_agg($1::tsvector @@ query::tsquery) FROM unnest($2::text[]) AS query", tsvector, queries
    )
    return ALL if held_terms and all(held_terms) else ANY if held_terms and any(held_terms) else None


async def tsqueries(connection: asyncpg.Connection, asked: QueryRows) -> list[str] | None:
    """The terms as search asks them."""
    lexeme = project_lexeme(PROJECT)
    row = await connection.fetchrow(ASKED, PROJECT, lexeme, asked.terms, asked.words, asked.lexemes, 1, None, None)
    assert row is not None
    found: list[str] | None = row["queries"]
    return found


@pytest.mark.parametrize(("document", "query", "expected"), CASES)
async def test_a_query_finds_what_says_the_same_in_another_spelling(
    connection: asyncpg.Connection, document: str, query: str, expected: str | None
) -> None:
    assert await lexical_matches(connection, document, query) == expected


async def test_the_stop_words_are_those_of_postgresql(connection: asyncpg.Connection) -> None:
    # Were one missing, a query would spend a term on it; were one too many, a word could never be found.
    dropped = await connection.fetchval(
        "SELECT array_agg(word) FROM unnest($1::text[]) AS word WHERE to_tsvector('english', word) = ''",
        sorted(ENGLISH),
    )
    assert set(dropped) == ENGLISH
    assert len(ENGLISH) == 127


async def test_a_project_is_found_by_its_lexeme_alone(connection: asyncpg.Connection) -> None:
    other = UUID(int=1)
    held = prepare(PROJECT, f"{project_lexeme(other)} p{other.hex} !{other}")
    is_held = f"SELECT ({TSVECTOR}) @@ quote_literal($3::text)::tsquery"
    assert await connection.fetchval(is_held, held.plain, held.lexemes, project_lexeme(PROJECT))
    assert not await connection.fetchval(is_held, held.plain, held.lexemes, project_lexeme(other))


LONGEST = [
    "".join(map(chr, range(0x4E00, 0x4E00 + 10_666))),
    "aB1_" * 8_000,
    "\ufdfa" * 10_666,
    "a/b." * 8_000,
    " ".join(f"getUser{number}ById" for number in range(1_700)),
    "é" * 16_000,
    "." * 32_000,
    "word " * 6_400,
]


@pytest.mark.parametrize("content", LONGEST, ids=range(len(LONGEST)))
async def test_the_longest_content_stays_a_small_tsvector(connection: asyncpg.Connection, content: str) -> None:
    held = prepare(PROJECT, content)
    size = await connection.fetchval(f"SELECT pg_column_size(({TSVECTOR}))", held.plain, held.lexemes)
    assert size < 500_000


async def test_a_query_of_nothing_asks_nothing(connection: asyncpg.Connection) -> None:
    for query in ("", "   ", "what is it?", "&|!():*'\\", "…", "\u200b"):
        assert query_terms(query) == ()
    assert await tsqueries(connection, query_rows(())) is None


ANY_TEXT = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"), max_size=200)
CODE_TEXT = st.text(st.sampled_from("aBcI19_-./:\\+#@~'\"!&|() \tßÖé字の가ก\u0301\u200b"), max_size=60)


def check_storable(text: str) -> None:
    found = document_terms(text)
    assert all(word.isalpha() or not word.isascii() for word in found.plain_text.split())
    for lexeme in found.lexemes:
        assert lexeme
        assert not set(lexeme) & set("'\\ \t\n\0!")
        assert len(lexeme.split()) == 1
        assert len(lexeme.encode()) <= 2_046


@given(ANY_TEXT | CODE_TEXT)
@example("#\u0300")
def test_lexemes_need_no_quoting_and_fit(text: str) -> None:
    check_storable(text)


@given(ANY_TEXT | CODE_TEXT)
def test_every_text_is_found_by_itself(text: str) -> None:
    found = document_terms(text)
    words, lexemes = set(found.plain_text.split()), set(found.lexemes)
    for term in query_terms(text):
        assert any(words.issuperset(way.words) and lexemes.issuperset(way.lexemes) for way in term.alternatives)


@given(ANY_TEXT | CODE_TEXT)
def test_terms_are_distinct_bounded_and_never_empty(text: str) -> None:
    terms = query_terms(text * 20)
    assert len(terms) <= QUERY_TERMS_MAX
    assert len(set(terms)) == len(terms)
    assert all(way.words or way.lexemes for term in terms for way in term.alternatives)
    assert all(term.alternatives for term in terms)


def test_terms_keep_the_order_of_the_query() -> None:
    assert query_terms("zebra apple zebra the mango") == tuple(
        QueryTerm((Alternative(words=(word,)),)) for word in ("zebra", "apple", "mango")
    )


def test_what_is_special_outlasts_plain_words_at_the_limit() -> None:
    letters = "bcdefghjkl"
    words = [f"word{first}{second}" for first in letters for second in letters]
    terms = query_terms(" ".join([*words, "DetachedInstanceError"]))
    assert len(terms) == QUERY_TERMS_MAX
    assert terms[0] == QueryTerm((Alternative(words=("wordbb",)),))
    assert terms[-1].alternatives[0] == Alternative(words=("detachedinstanceerror",))
    assert len(query_terms("one two three four", limit=2)) == 2


def test_a_contraction_asks_no_more_than_its_words() -> None:
    # Without _CONTRACTIONS the first asks for `doesn`, `ll` and `d` too.
    assert query_terms("Why doesn't it start, we’ll ask and I'd wait") == query_terms("start, ask and wait")
    assert query_terms("DON'T PANIC NOW") == query_terms("PANIC")
    assert query_terms("O'Dell") == query_terms("O Dell")


def test_a_shouted_question_asks_no_stop_words() -> None:
    assert query_terms("WHAT IS THE PORT") == query_terms("what is the port")


def test_an_identifier_is_asked_whole_or_by_all_its_parts() -> None:
    assert query_terms("getUserById") == (
        QueryTerm((Alternative(words=("getuserbyid",)), Alternative(words=("get", "user", "id")))),
    )


def test_hiragana_is_asked_only_where_nothing_else_is() -> None:
    def lexemes(query: str) -> list[str]:
        return [term.alternatives[0].lexemes[0] for term in query_terms(query)]

    assert lexemes("設定を変える") == ["設定", "変"]
    assert lexemes("ひらがな") == ["ひら", "らが", "がな"]


def test_rows_name_the_term_of_each_alternative() -> None:
    rows = query_rows(query_terms("python3.11 cache"))
    assert rows.terms == [0, 0, 1]
    assert rows.words == ["", "python", "cache"]
    assert rows.lexemes == ["python3.11", "3.11", ""]


@given(
    before=st.text(alphabet=".,;:!?\"'()[]{}<>`*", max_size=3),
    number=st.text(alphabet="0123456789", min_size=1, max_size=120),
    after=st.text(alphabet=".,;:!?\"'()[]{}<>`*", max_size=3),
)
@example(before=".", number="5", after="")
@example(before="", number="1" * 101, after=".")
def test_a_number_is_what_it_is_taken_apart(before: str, number: str, after: str) -> None:
    # Fails when the short way of `_document_token` takes `.5` too.
    found = analyse(before + number + after)
    ways = [way for token in found for way in (token.extra, *token.alternatives)]

    terms = document_terms(before + number + after)
    assert terms.lexemes == list(dict.fromkeys(lexeme for way in ways for lexeme in way.lexemes))
    assert terms.plain_text == " ".join(word for way in ways for word in way.words)


def test_lexemes_are_bounded_in_number() -> None:
    assert len(document_terms(" ".join(f"a{number}" for number in range(30_000))).lexemes) == LEXEMES_MAX


@given(ANY_TEXT | CODE_TEXT)
def test_no_content_makes_the_mark_of_a_project(text: str) -> None:
    assert not any(lexeme.startswith(PROJECT_MARK) for lexeme in document_terms(PROJECT_MARK + text).lexemes)
