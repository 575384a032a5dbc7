"""Acronyms beside what they stand for: a question that spells out CDC, SBOM or KYC finds the letters."""

from __future__ import annotations

import re
from collections.abc import Iterator

from shared.text.stopwords import ENGLISH

LETTERS_MIN, LETTERS_MAX = 3, 5
WORDS_MAX = 60

_ACRONYM = re.compile(f"[A-Z]{{{LETTERS_MIN},{LETTERS_MAX}}}")
_WORD = re.compile(r"[A-Za-z]+")
_ARTICLES = frozenset({"a", "an", "the"})
_MARK = "="
"""Before the letters: written small they may be a word, and none of these is meant."""


def written(token: str) -> Iterator[str]:
    """The lexeme of a token that is written as an acronym."""
    if _ACRONYM.fullmatch(token):
        yield _MARK + token.lower()


def spelled_out(query: str) -> dict[str, frozenset[str]]:
    """The lexemes of the acronyms that neighbouring words could stand for, each with these words in lower case.

    Words that say nothing take part in the middle only, and articles nowhere: bill of materials, know your customer.
    """
    words = [word.lower() for word in _WORD.findall(query)][:WORDS_MAX]
    runs = (
        words[start : start + length]
        for length in range(LETTERS_MIN, LETTERS_MAX + 1)
        for start in range(len(words) - length + 1)
    )
    return {
        _MARK + "".join(word[0] for word in run): frozenset(run) - ENGLISH
        for run in runs
        if run[0] not in ENGLISH and run[-1] not in ENGLISH and _ARTICLES.isdisjoint(run)
    }
