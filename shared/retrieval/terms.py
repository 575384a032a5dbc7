"""A query as what the database is asked: its terms as tsqueries, how much each of them tells, and how rare it is."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import asyncpg

from shared import statements
from shared.domain import Author, ProjectScope
from shared.text.document import project_lexeme
from shared.text.normaliser import QueryTerm, query_rows, query_terms

_ASKED = statements.load("retrieval")["asked"]

COUNTED_MAX = 2_000
"""Rows that a search counts by itself; what is more frequent is read from the frequencies that the fleet keeps."""

PRUNED_SHARE = 0.05
PRUNED_FROM_MEMORIES = 1_000
KEPT_TERMS = 2
NEWEST_ROWS_MAX = 2_000
MEMORIES_ASSUMED = 100

_NAME = re.compile(r"(?=.*[^\W\d_])(?=.*\d)[\w.\-]+|\w+_\w+|\w*[a-z][A-Z]\w*")


@dataclass(frozen=True, slots=True)
class Term:
    """One thing asked for: its tsquery, how it reads, how many live memories that the caller sees hold it, its weight.

    `lexeme` is set where the term is one plain word, which may have been misspelt; `is_name` tells codes and symbols.
    """

    query: str
    shown: str
    documents: int
    weight: float
    lexeme: str | None = None
    is_name: bool = False


@dataclass(frozen=True)
class Asked:
    """`rare` finds candidates wherever they stand, `common` among the newest NEWEST_ROWS_MAX that hold it: any-term
    tsqueries, None where no term is of that kind. `floor` and `model_id` are those of the query's model, None where it
    is not the current one."""

    terms: tuple[Term, ...]
    rare: str | None
    common: str | None
    memories: int
    model_id: int | None
    floor: float | None

    @property
    def has_words(self) -> bool:
        return self.rare is not None or self.common is not None

    @cached_property
    def weight(self) -> float:
        """What a memory that holds every term would reach."""
        return sum(term.weight for term in self.terms)

    @cached_property
    def unknown_weight(self) -> float:
        """The weight of a word that no memory holds."""
        return idf(0, memories=self.memories)

    @cached_property
    def names_the_unknown(self) -> bool:
        """Most of the query is a code or symbol that no memory holds: what is near in meaning is another one."""
        unknown = sum(term.weight for term in self.terms if term.is_name and term.documents == 0)
        return unknown > 0 and 2 * unknown >= self.weight


async def ask(
    connection: asyncpg.Connection, scope: ProjectScope, author: Author, query: str, *, model: str | None
) -> Asked:
    """The bounded terms of a query, counted over what its author may see; user text is never query syntax."""
    terms = query_terms(query)
    told = query_rows(terms)
    row = await connection.fetchrow(
        _ASKED,
        scope.project_id,
        project_lexeme(scope.project_id),
        told.terms,
        told.words,
        told.lexemes,
        COUNTED_MAX,
        model,
        author.conversation,
    )
    assert row is not None
    memories = row["memories"]
    return of_terms(
        scope,
        _terms(row, terms, _names(query), memories=memories),
        memories=memories,
        model_id=row["model_id"],
        floor=row["floor"],
    )


def of_terms(
    scope: ProjectScope, terms: tuple[Term, ...], *, memories: int, model_id: int | None, floor: float | None
) -> Asked:
    """Terms in more than PRUNED_SHARE of a large project find no candidates, but for the rarest two.

    It halves the lexical leg at no loss. Of those that find, the rarest do so everywhere as long as fewer than
    NEWEST_ROWS_MAX memories hold them, the others among the newest: a code is found beside a word that all hold.
    """
    rarest = sorted(terms, key=lambda term: term.documents)
    if memories < PRUNED_FROM_MEMORIES:
        finding = rarest
    else:
        rare = [term for term in rarest if term.documents <= PRUNED_SHARE * memories]
        finding = rare if len(rare) >= KEPT_TERMS else rarest[:KEPT_TERMS]
    # A count that ended at COUNTED_MAX may mean any number.
    everywhere = sum(reached < NEWEST_ROWS_MAX for reached in accumulate(term.documents for term in finding))
    return Asked(
        terms=terms,
        rare=_any(scope, finding[:everywhere]),
        common=_any(scope, finding[everywhere:]),
        memories=memories,
        model_id=model_id,
        floor=floor,
    )


def _any(scope: ProjectScope, terms: list[Term]) -> str | None:
    if not terms:
        return None
    return f"'{project_lexeme(scope.project_id)}' & ({' | '.join(term.query for term in terms)})"


def idf(documents: int, *, memories: int) -> float:
    """The weight of a term in BM25 (Robertson and Spärck Jones), never below zero.

    A handful of memories says nothing about how rare a word is: fewer than MEMORIES_ASSUMED count as so many.
    """
    assumed = max(memories, documents, MEMORIES_ASSUMED)
    return math.log1p((assumed - documents + 0.5) / (documents + 0.5))


def _terms(
    row: asyncpg.Record, terms: tuple[QueryTerm, ...], names: frozenset[str], *, memories: int
) -> tuple[Term, ...]:
    if row["queries"] is None:
        return ()
    return tuple(
        Term(
            query=query,
            shown=_shown(terms[number]),
            documents=documents,
            weight=idf(documents, memories=memories),
            lexeme=lexeme,
            is_name=_squeezed(_shown(terms[number])) in names,
        )
        for query, number, lexeme, documents in zip(
            row["queries"], row["numbers"], row["lexemes"], row["documents"], strict=True
        )
    )


def _shown(term: QueryTerm) -> str:
    first = term.alternatives[0]
    return " ".join((*first.lexemes, *first.words))


def _names(query: str) -> frozenset[str]:
    """The codes and symbols of a query: letters with digits, with underscores or in camel case."""
    tokens = (token.strip(".,;:!?\"'()[]{}<>`*") for token in query.split())
    return frozenset(_squeezed(token) for token in tokens if _NAME.fullmatch(token))


def _squeezed(text: str) -> str:
    return "".join(filter(str.isalnum, text)).lower()
