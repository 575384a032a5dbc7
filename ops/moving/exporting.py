"""Our own export: everything that ever happened, a line each, in an order that depends on the data alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from uuid import UUID

import asyncpg
import orjson

from ops.moving.formats import ours
from shared import statements

PREFETCH_LINES = 20

_SQL = statements.load("moving")
_PROJECTS = _SQL["export_projects"]
_MEMORIES = _SQL["export_memories"]
_COUNT = _SQL["count_memories"]


async def count(connection: asyncpg.Connection, *, tenant: str | None, project_id: UUID | None) -> int:
    """How many memories an export will hold."""
    return int(await connection.fetchval(_COUNT, tenant, project_id))


async def export(
    connection: asyncpg.Connection, *, tenant: str | None = None, project_id: UUID | None = None
) -> AsyncIterator[tuple[str, bytes]]:
    """The kind of each line and the line, all of one instant; None: every tenant, every project.

    Holds PREFETCH_LINES lines at a time, and its connection in a transaction to the end.
    """
    projects = memories = 0
    yield "header", ours.header()
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        for project in await connection.fetch(_PROJECTS, tenant, project_id):
            projects += 1
            yield "project", ours.line(orjson.loads(project["line"]))
            async for row in connection.cursor(_MEMORIES, project["id"], prefetch=PREFETCH_LINES):
                memories += 1
                yield "memory", ours.line(orjson.loads(row["line"]))
    yield "end", ours.end(projects=projects, memories=memories)
