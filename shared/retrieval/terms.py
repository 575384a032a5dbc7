"""A query as tsqueries: each of its terms, and any of them within the project."""

from __future__ import annotations

from dataclasses import dataclass

import asyncpg

from shared import statements
from shared.domain import ProjectScope
from shared.text.document import project_lexeme
from shared.text.normaliser import QueryTerm, query_rows, query_terms

_TSQUERIES = statements.load("lexical")["tsqueries"]


@dataclass(frozen=True, slots=True)
class Asked:
    """`each_term` and `shown` are parallel: the tsquery of a term and how it reads; `any_term` is None for none."""

    any_term: str | None
    each_term: tuple[str, ...]
    shown: tuple[str, ...]


async def ask(connection: asyncpg.Connection, scope: ProjectScope, query: str) -> Asked:
    """The bounded terms of a query; user text is never query syntax."""
    terms = query_terms(query)
    told = query_rows(terms)
    row = await connection.fetchrow(_TSQUERIES, told.terms, told.words, told.lexemes)
    assert row is not None
    if row["each_term"] is None:
        return Asked(any_term=None, each_term=(), shown=())
    return Asked(
        any_term=f"'{project_lexeme(scope.project_id)}' & ({row['any_term']})",
        each_term=tuple(row["each_term"]),
        shown=tuple(_shown(terms[number]) for number in row["numbers"]),
    )


def _shown(term: QueryTerm) -> str:
    first = term.alternatives[0]
    return " ".join((*first.lexemes, *first.words))
