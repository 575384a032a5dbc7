"""Searching: the memories that answer a query by their words, or a page of the newest where nothing is asked."""

from __future__ import annotations

from typing import Any

import asyncpg

from shared import statements
from shared.domain import Author, MemoryType, ProjectScope
from shared.retrieval import cursors, guidance
from shared.retrieval.requests import Found, Hit, Search
from shared.retrieval.terms import Asked, ask

_SQL = statements.load("retrieval")
_LEXICAL = _SQL["lexical"]
_LEXICAL_AS_OF = _SQL["lexical_as_of"]
_NEWEST = _SQL["newest"]
_NEWEST_AS_OF = _SQL["newest_as_of"]
_COVERAGE = _SQL["coverage"]

NOT_SEMANTIC = "lexical only: no embedding model answers searches"


async def search(connection: asyncpg.Connection, scope: ProjectScope, author: Author, request: Search) -> Found:
    """What this caller may find, best first; without a query newest `created_at` first, then by id.

    Reads only what is live, or was live at `as_of`. Raises InvalidArgument for a cursor of another search.
    """
    if request.query is None:
        return await _browse(connection, scope, author, request)
    return await _find(connection, scope, author, request, request.query)


async def _find(
    connection: asyncpg.Connection, scope: ProjectScope, author: Author, request: Search, query: str
) -> Found:
    asked = await ask(connection, scope, query)
    rows = [] if asked.any_term is None else await _matching(connection, scope, author, request, asked)
    hits = tuple(_hit(row, score=_share(row, asked), why=_why(row, asked)) for row in rows)
    stored, coverage = await _coverage(connection, scope, author)
    best = hits[0].score if hits else None
    return Found(
        results=hits,
        confidence=guidance.confidence(best),
        guidance=guidance.of_search(best, stored=stored),
        semantic_coverage=coverage,
        degraded=NOT_SEMANTIC,
    )


async def _matching(
    connection: asyncpg.Connection, scope: ProjectScope, author: Author, request: Search, asked: Asked
) -> list[asyncpg.Record]:
    arguments: list[Any] = [
        scope.project_id,
        author.conversation,
        asked.any_term,
        list(asked.each_term),
        _types(request),
        list(request.tags),
        request.match_all_tags,
        request.limit,
    ]
    if request.as_of is None:
        rows: list[asyncpg.Record] = await connection.fetch(_LEXICAL, *arguments)
    else:
        rows = await connection.fetch(_LEXICAL_AS_OF, *arguments, request.as_of)
    return rows


async def _browse(connection: asyncpg.Connection, scope: ProjectScope, author: Author, request: Search) -> Found:
    position = cursors.decode(request.cursor, scope, request)
    arguments: list[Any] = [
        scope.project_id,
        author.conversation,
        _types(request),
        list(request.tags),
        request.match_all_tags,
        request.limit + 1,
        None if position is None else position.created_at,
        None if position is None else position.memory_id,
    ]
    if request.as_of is None:
        rows = await connection.fetch(_NEWEST, *arguments)
    else:
        rows = await connection.fetch(_NEWEST_AS_OF, *arguments, request.as_of)
    page, more = rows[: request.limit], len(rows) > request.limit
    stored, coverage = await _coverage(connection, scope, author)
    return Found(
        results=tuple(_hit(row) for row in page),
        confidence="high",
        guidance=guidance.of_browsing(shown=len(page), more=more, stored=stored),
        semantic_coverage=coverage,
        next_cursor=cursors.encode(page[-1], scope, request) if more else None,
    )


async def _coverage(connection: asyncpg.Connection, scope: ProjectScope, author: Author) -> tuple[int, float]:
    row = await connection.fetchrow(_COVERAGE, scope.project_id, author.conversation)
    assert row is not None
    return row["memories"], round(row["embedded"] / row["memories"], 4) if row["memories"] else 0.0


def _types(request: Search) -> list[str] | None:
    return None if request.types is None else [memory_type.value for memory_type in request.types]


def _share(row: asyncpg.Record, asked: Asked) -> float:
    return round(len(row["matched"]) / len(asked.each_term), 4)


def _why(row: asyncpg.Record, asked: Asked) -> dict[str, Any]:
    return {
        "terms_matched": [asked.shown[number - 1] for number in row["matched"]],
        "terms_asked": len(asked.each_term),
        "lexical_rank": round(row["rank"], 4),
    }


def _hit(row: asyncpg.Record, *, score: float | None = None, why: dict[str, Any] | None = None) -> Hit:
    return Hit(
        memory_id=row["memory_id"],
        revision=row["revision"],
        type=MemoryType(row["type"]),
        content=row["content"],
        tags=tuple(row["tags"]),
        author_client=row["author_client"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        score=score,
        why=why,
    )
