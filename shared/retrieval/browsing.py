"""A page of the newest memories, where nothing is asked."""

from __future__ import annotations

from typing import Any

import asyncpg

from shared import statements
from shared.domain import Author, ProjectScope
from shared.retrieval import cursors, guidance
from shared.retrieval.requests import Found, Search
from shared.retrieval.results import hit, stored

_SQL = statements.load("retrieval")
_NEWEST = _SQL["newest"]
_NEWEST_AS_OF = _SQL["newest_as_of"]


async def browse(connection: asyncpg.Connection, scope: ProjectScope, author: Author, request: Search) -> Found:
    """Newest `created_at` first, then by id. Raises InvalidArgument for a cursor of another browsing."""
    position = cursors.decode(request.cursor, scope, request)
    arguments: list[Any] = [
        scope.project_id,
        author.conversation,
        None if request.types is None else [memory_type.value for memory_type in request.types],
        list(request.tags),
        request.match_all_tags,
        request.limit + 1,
        None if position is None else position.at,
        None if position is None else position.memory_id,
    ]
    if request.as_of is None:
        rows = await connection.fetch(_NEWEST, *arguments)
    else:
        rows = await connection.fetch(_NEWEST_AS_OF, *arguments, request.as_of)
    page, more = rows[: request.limit], len(rows) > request.limit
    told = await stored(connection, scope, author)
    return Found(
        results=tuple(hit(row) for row in page),
        confidence="high" if page else "low",
        guidance=guidance.of_browsing(request, shown=len(page), more=more, stored=told),
        semantic_coverage=told.semantic_coverage,
        next_cursor=cursors.encode(page[-1], scope, request) if more else None,
    )
