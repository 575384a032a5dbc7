"""The lexical tokens of documents and queries: one normaliser for both, beside PostgreSQL's stemmer."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

from shared.text import initials
from shared.text.scripts import document_grams, prepared, query_grams, split_unspaced
from shared.text.stopwords import ENGLISH
from shared.text.tokens import ATOM_CHARACTERS_MAX, Alternative, Token, analyse

QUERY_TERMS_MAX = 32
PLAIN_CHARACTERS_MAX = 100_000
LEXEMES_MAX = 25_000
TOKENS_KEPT_MAX = 16_384
TOKEN_KEPT_CHARACTERS_MAX = 64

_PUNCTUATION = ".,;:!?\"'()[]{}<>`*"
_BEFORE_NUMBERS = _PUNCTUATION.replace(".", "")
_SHOUTED_WORDS_MIN = 3

# `doesn` and `ll` are no stop words of PostgreSQL's: in a question they would be words that no memory holds.
_CONTRACTIONS = re.compile(r"(?:\b[a-z]+n['’]t|(?<=[a-z])['’](?:d|ll|m|re|ve))(?!\.?\w)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class DocumentTerms:
    """What a document is found by: words for `to_tsvector('english', plain_text)`, and exact lexemes."""

    plain_text: str
    lexemes: list[str]


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """One thing that was asked for: a document answers it with any of the alternatives."""

    alternatives: tuple[Alternative, ...]


@dataclass(frozen=True, slots=True)
class QueryRows:
    """The alternatives as parallel columns: the number of their term, words and lexemes joined by blanks."""

    terms: list[int]
    words: list[str]
    lexemes: list[str]


def document_terms(content: str) -> DocumentTerms:
    """Lower-case words of letters only, and distinct lexemes without blanks, quotes or backslashes.

    Each is at most 800 bytes; 32,000 bytes of content stay under half a megabyte as a tsvector.
    """
    tokens = prepared(content).split()
    known = {
        token: _known_token(token) if len(token) <= TOKEN_KEPT_CHARACTERS_MAX else _document_token(token)
        for token in dict.fromkeys(tokens)
    }
    words = [word for token in tokens if (word := known[token][0])]
    lexemes = dict.fromkeys(chain.from_iterable([exact for _, exact in known.values() if exact]))
    return DocumentTerms(" ".join(words)[:PLAIN_CHARACTERS_MAX], list(lexemes)[:LEXEMES_MAX])


def query_terms(query: str, *, limit: int = QUERY_TERMS_MAX) -> tuple[QueryTerm, ...]:
    """The distinct terms in the order asked, at most `limit`; none if only stop words were asked.

    Where there are more, what is special (identifiers, paths, versions, codes) outlasts plain words.
    """
    text = prepared(query)
    terms, particles = _query_terms(dict.fromkeys(_CONTRACTIONS.sub("", text).split()))
    if len(text.split()) >= _SHOUTED_WORDS_MIN and query.upper() == query:
        terms = [term for term in terms if not _is_shouted(term)]
    distinct = list(dict.fromkeys(terms or particles))
    kept = sorted(range(len(distinct)), key=lambda place: _is_plain(distinct[place]))[:limit]
    return tuple(distinct[place] for place in sorted(kept))


def query_rows(terms: Iterable[QueryTerm]) -> QueryRows:
    """The arrays that the SQL takes."""
    rows = [(place, way) for place, term in enumerate(terms) for way in term.alternatives]
    return QueryRows(
        [place for place, _ in rows],
        [" ".join(way.words) for _, way in rows],
        [" ".join(way.lexemes) for _, way in rows],
    )


def _document_token(token: str) -> tuple[str, tuple[str, ...]]:
    bare = token.strip(_PUNCTUATION)
    # The plain word is nine tokens of ten in prose: without this way 32,000 bytes take twice as long.
    if bare.isascii() and bare.isalpha() and bare[1:].islower() and len(bare) < 100:
        return bare.lower(), ()
    # A number too: taken apart as an identifier it took thirty times as long. `.5` is none of these.
    number = token.rstrip(_PUNCTUATION).lstrip(_BEFORE_NUMBERS)
    if number.isascii() and number.isdigit() and len(number) <= ATOM_CHARACTERS_MAX:
        return "", (number,)
    words: dict[str, None] = {}
    lexemes: dict[str, None] = dict.fromkeys(initials.written(bare))
    for script, run in split_unspaced(token):
        if script != "spaced":
            lexemes.update(dict.fromkeys(document_grams(script, run)))
            continue
        for found in analyse(run):
            for way in (found.extra, *found.alternatives):
                words.update(dict.fromkeys(way.words))
                lexemes.update(dict.fromkeys(way.lexemes))
    return " ".join(words), tuple(lexemes)


# The words of a project repeat: an import of 100,000 memories took a third less time for this.
_known_token = lru_cache(maxsize=TOKENS_KEPT_MAX)(_document_token)


def _query_terms(tokens: Iterable[str]) -> tuple[list[QueryTerm], list[QueryTerm]]:
    """The terms, and apart from them the hiragana, which is grammar more often than meaning."""
    terms: list[QueryTerm] = []
    particles: list[QueryTerm] = []
    for token in tokens:
        for script, run in split_unspaced(token):
            if script == "spaced":
                terms.extend(map(_term, filter(_is_findable, analyse(run))))
                continue
            kind = particles if script == "hiragana" else terms
            grams = query_grams(script, run)
            kind.extend(QueryTerm((Alternative(lexemes=(gram,)),)) for gram in grams)
    return terms, particles


def _term(token: Token) -> QueryTerm:
    return QueryTerm(token.alternatives)


def _is_findable(token: Token) -> bool:
    return bool(token.alternatives)


def _is_plain(term: QueryTerm) -> bool:
    return not any(way.lexemes or len(way.words) > 1 for way in term.alternatives)


def _is_shouted(term: QueryTerm) -> bool:
    return all(len(way.lexemes) == 1 and way.lexemes[0] in ENGLISH for way in term.alternatives)
