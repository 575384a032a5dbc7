from datetime import date
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.domain import MemoryType
from workers.embedding import chunks, tokens
from workers.embedding.chunks import PIECES_MAX, Span
from workers.embedding.embedder import Embedder, Purpose
from workers.embedding.texts import RevisionText, embedded_texts

ROOM = 206
CONTENT_BYTES_MAX = 32_000


def revision(content: str, *, category: str | None = None, tags: tuple[str, ...] = ()) -> RevisionText:
    return RevisionText(
        content=content, type=MemoryType.FACT, category=category, tags=tags, written_on=date(2026, 3, 2)
    )


def assert_covers(content: str, spans: list[Span]) -> None:
    assert spans[0].start == 0
    assert spans[-1].end == len(content)
    for one, following in pairwise(spans):
        assert one.start < following.start <= one.end < following.end


def widest(spans: list[Span], starts: list[int]) -> int:
    return max(sum(span.start <= start < span.end for start in starts) for span in spans)


words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=120)
separators = st.sampled_from([" ", "\n", "\n\n", ". ", "。", "", "\t", "! ", "\u0301", "\u200b"])
prose = st.lists(st.tuples(words, separators), min_size=1, max_size=400).map(
    lambda pairs: "".join(word + separator for word, separator in pairs)
)


@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(content=prose)
def test_every_character_of_any_content_lies_in_a_chunk(embedder: Embedder, content: str) -> None:
    starts = embedder.token_starts(content)
    spans = chunks.cut(content, starts=starts, room_tokens=ROOM)
    assert_covers(content, spans)
    assert widest(spans, starts) <= ROOM


@settings(deadline=None, max_examples=200)
@given(content=prose, room=st.integers(8, 300))
def test_coverage_holds_for_any_room_and_without_a_tokenizer(content: str, room: int) -> None:
    starts = tokens.approximate_starts(content)
    spans = chunks.cut(content, starts=starts, room_tokens=room)
    assert_covers(content, spans)
    assert widest(spans, starts) <= room


@settings(deadline=None, max_examples=200)
@given(
    content=st.text("ab \n.", min_size=1, max_size=600),
    cuts=st.sets(st.integers(0, 599), min_size=1),
    room=st.integers(8, 64),
)
def test_coverage_holds_wherever_a_tokenizer_sees_tokens(content: str, cuts: set[int], room: int) -> None:
    starts = sorted(cut for cut in cuts if cut < len(content)) or [0]
    assert_covers(content, chunks.cut(content, starts=starts, room_tokens=room))


@pytest.mark.parametrize("unit", ["!", "! ", "a ", "word ", "字", "é", "🦀", "x" * 99 + " ", "\n", "a\n\n", "[SEP]"])
def test_the_longest_content_has_a_bounded_number_of_chunks_within_the_window(embedder: Embedder, unit: str) -> None:
    content = unit * (CONTENT_BYTES_MAX // len(unit.encode()))
    texts = embedded_texts(revision(content), embedder=embedder)
    assert len(texts) <= PIECES_MAX
    assert max(len(embedder.token_starts(text)) for text in texts) + 2 <= embedder.window_tokens


def test_a_token_that_a_cut_went_through_comes_again_whole() -> None:
    content = "x" * 7 + "q r s t" + "y" * 20
    starts = [*range(8), *range(14, 34)]
    first, second, *rest = chunks.cut(content, starts=starts, room_tokens=8)
    assert (first, second.start) == (Span(0, 13), 7)
    assert_covers(content, [first, second, *rest])


def test_a_short_content_stays_whole(embedder: Embedder) -> None:
    assert len(embedded_texts(revision("We deploy on Fridays. Never on Mondays."), embedder=embedder)) == 1


def test_an_empty_tokenisation_is_one_chunk() -> None:
    assert chunks.cut(" \n ", starts=[], room_tokens=ROOM) == [Span(0, 3)]


def test_a_cut_falls_between_paragraphs_before_sentences() -> None:
    paragraph = "One two three. Four five six seven eight nine ten."
    content = "\n\n".join([paragraph] * 40)
    spans = chunks.cut(content, starts=tokens.approximate_starts(content), room_tokens=ROOM)
    assert all(content[: span.end].endswith("\n\n") for span in spans[:-1])


def test_a_cut_falls_between_sentences_before_words() -> None:
    content = "One two three four five six seven eight nine ten. " * 40
    spans = chunks.cut(content, starts=tokens.approximate_starts(content), room_tokens=ROOM)
    assert all(content[: span.end].endswith(". ") for span in spans[:-1])


def test_the_header_says_type_category_tags_and_date(embedder: Embedder) -> None:
    said = revision("We run the queue on PostgreSQL.", category="architecture", tags=("postgres", "queue"))
    assert embedded_texts(said, embedder=embedder) == [
        "Fact about architecture (postgres, queue), 2026-03-02: We run the queue on PostgreSQL."
    ]


def test_every_chunk_has_the_header(embedder: Embedder) -> None:
    texts = embedded_texts(revision("A sentence of six short words. " * 60, tags=("ci",)), embedder=embedder)
    assert len(texts) > 3
    assert all(text.startswith("Fact (ci), 2026-03-02: ") for text in texts)


def test_a_long_header_gives_up_tags_and_not_content(embedder: Embedder) -> None:
    tags = tuple(f"a-rather-long-tag-number-{number}" for number in range(20))
    (text,) = embedded_texts(revision("content " * 80, category="deployment", tags=tags), embedder=embedder)
    assert text.startswith("Fact about deployment (a-rather-long-tag-number-0")
    assert text.endswith(": " + "content " * 80)
    assert len(embedder.token_starts(text)) + 2 <= embedder.window_tokens


def test_a_category_that_is_too_long_for_the_header_is_left_out(embedder: Embedder) -> None:
    (text,) = embedded_texts(revision("content", category="字" * 42), embedder=embedder)
    assert text.startswith(("Fact about", "Fact, 2026"))
    (text,) = embedded_texts(revision("content", category="!" * 128), embedder=embedder)
    assert text == "Fact, 2026-03-02: content"


FILLER = (
    "The quarterly review went through the open items one after another and nobody had objections. ",
    "Meeting notes are kept in the shared folder and summarised on Fridays. ",
    "List endpoints return at most 200 items and an opaque cursor, never offsets. ",
    "Dates from the legacy importer are in local time without a zone. ",
    "The staging environment is rebuilt from main every night. ",
)


def test_a_fact_at_word_3000_is_found_by_its_meaning(embedder: Embedder) -> None:
    before = "".join(FILLER[index % 5] for index in range(260))
    assert len(before.split()) > 3000
    fact = "The laser printer on the third floor only accepts jobs from the finance network. "
    content = before + fact + FILLER[0] * 30
    texts = embedded_texts(revision(content), embedder=embedder)
    vectors = embedder.embed(texts, purpose=Purpose.DOCUMENT)
    query = embedder.embed(["who may print on the third floor?"], purpose=Purpose.QUERY)[0]
    cosines = vectors @ query
    assert "laser printer" in texts[int(cosines.argmax())]
    assert cosines.max() > 0.3
    assert sorted(cosines)[-4] < cosines.max() - 0.1
