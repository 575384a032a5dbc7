"""Other ways to write what was asked: the word one slip away from one that no memory holds, and acronyms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import asyncpg

from shared import statements
from shared.domain import ProjectScope
from shared.retrieval import terms
from shared.retrieval.terms import Asked, Term
from shared.text import initials

_CORRECTIONS = statements.load("retrieval")["corrections"]

LETTERS = "abcdefghijklmnopqrstuvwxyz"
LETTERS_MIN = 4
LETTERS_MAX = 24
WORDS_MAX = 8
SHARE_KEPT = 0.8
"""What a corrected word weighs of a word spelt right: the guess may be wrong."""


async def correct(connection: asyncpg.Connection, scope: ProjectScope, asked: Asked, query: str) -> Asked:
    """Unknown plain words asked as the most frequent known one that is one slip away, and words beside their acronym.

    The known words are those that the fleet counted, never one that only a conversation holds. Looking up every slip
    by the index costs the same at any size of the project: eight words of eight letters are 3,400 probes.
    """
    unknown = [term.lexeme for term in asked.terms if term.documents == 0 and _may_be_misspelt(term.lexeme)]
    slips = {lexeme: edits(lexeme) for lexeme in unknown[:WORDS_MAX] if lexeme is not None}
    acronyms = initials.spelled_out(query)
    if not slips and not acronyms:
        return asked
    sought = " ".join(set(acronyms).union(*slips.values()))
    rows = await connection.fetch(_CORRECTIONS, scope.project_id, sought)
    known = {row["lexeme"]: row["documents"] for row in rows}
    if not known:
        return asked
    best = {lexeme: _most_frequent(near & known.keys(), known) for lexeme, near in slips.items()}
    corrected = []
    for term in asked.terms:
        acronym = next((short for short, words in acronyms.items() if short in known and term.shown in words), None)
        if acronym is None:
            corrected.append(_corrected(term, best.get(term.lexeme or ""), known, asked.memories))
        else:
            corrected.append(_abbreviated(term, acronym, known, asked.memories))
    return terms.of_terms(scope, tuple(corrected), memories=asked.memories, model_id=asked.model_id, floor=asked.floor)


def edits(word: str) -> set[str]:
    """Every string at Damerau-Levenshtein distance one, letters taken from LETTERS (Norvig's spelling corrector)."""
    splits = [(word[:place], word[place:]) for place in range(len(word) + 1)]
    left_out = {head + tail[1:] for head, tail in splits if tail}
    swapped = {head + tail[1] + tail[0] + tail[2:] for head, tail in splits if len(tail) > 1}
    mistyped = {head + letter + tail[1:] for head, tail in splits if tail for letter in LETTERS}
    added = {head + letter + tail for head, tail in splits for letter in LETTERS}
    return (left_out | swapped | mistyped | added) - {word}


def _may_be_misspelt(lexeme: str | None) -> bool:
    return lexeme is not None and lexeme.isalpha() and lexeme.isascii() and LETTERS_MIN <= len(lexeme) <= LETTERS_MAX


def _most_frequent(near: Iterable[str], documents: dict[str, int]) -> str | None:
    ranked: Sequence[str] = sorted(near, key=lambda lexeme: (-documents[lexeme], lexeme))
    return ranked[0] if ranked else None


def _abbreviated(term: Term, acronym: str, documents: dict[str, int], memories: int) -> Term:
    """Met by the word and by the acronym; what none but the acronym holds is as rare as this."""
    told = max(term.documents, documents[acronym])
    return replace(
        term,
        query=f"({term.query} | '{acronym}')",
        documents=told,
        weight=term.weight if term.documents else terms.idf(told, memories=memories),
    )


def _corrected(term: Term, lexeme: str | None, documents: dict[str, int], memories: int) -> Term:
    """Met by the word as it was written too: none but a former wording holds it, and that one is sought in earnest."""
    if term.documents or lexeme is None:
        return term
    return replace(
        term,
        query=f"({term.query} | '{lexeme}')",
        shown=f"{term.shown} (or {lexeme})",
        documents=documents[lexeme],
        weight=SHARE_KEPT * terms.idf(documents[lexeme], memories=memories),
        lexeme=lexeme,
    )
