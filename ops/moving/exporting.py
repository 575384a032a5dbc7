"""Our own export: everything that ever happened, a line each, in an order that depends on the data alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from uuid import UUID

import asyncpg
import orjson

from ops.moving.formats.ours import HEADER, VERSION
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
    yield "header", _line({"kind": HEADER, "version": VERSION})
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        for project in await connection.fetch(_PROJECTS, tenant, project_id):
            projects += 1
            yield "project", _line(orjson.loads(project["line"]))
            async for row in connection.cursor(_MEMORIES, project["id"], prefetch=PREFETCH_LINES):
                memories += 1
                yield "memory", _line(orjson.loads(row["line"]))
    yield "end", _line({"kind": "end", "projects": projects, "memories": memories})


def _line(value: object) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)
