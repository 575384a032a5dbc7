"""What changed in the database, whoever wrote it: audit events as they become visible, each once."""

from __future__ import annotations

import asyncpg

from shared import statements
from shared.domain import Change, Changes

CHANGES_MAX = 2_000

_SQL = statements.load("feed")
_SNAPSHOT = _SQL["snapshot"]
_SINCE = _SQL["since"]


async def snapshot(connection: asyncpg.Connection) -> str:
    """Where a reader begins: all that is visible now."""
    found: str = await connection.fetchval(_SNAPSHOT)
    return found


async def since(connection: asyncpg.Connection, snapshot: str, *, limit: int = CHANGES_MAX) -> Changes:
    """What became visible since `snapshot`. Reads only."""
    rows = await connection.fetch(_SINCE, snapshot, limit)
    changes = tuple(_change(row) for row in rows if row["event"] is not None)
    return Changes(snapshot=rows[0]["snapshot"], changes=changes, overflowed=len(changes) >= limit)


def _change(row: asyncpg.Record) -> Change:
    return Change(
        tenant=row["tenant"],
        project_id=row["project_id"],
        slug=row["slug"],
        memory_id=row["memory_id"],
        conversation=row["scope_key"] or None,
        event=row["event"],
        former=row["former"],
    )
