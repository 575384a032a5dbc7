"""What retired what, who did it and why, the last first."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import asyncpg
import orjson

from shared import statements
from shared.domain import MemoryType, ProjectScope, Status
from shared.overview.views import COUNTED_UNFILTERED_MAX, PAGES, Page
from shared.paging import Position

_SQL = statements.load("overview")
_CONFLICTS = _SQL["conflicts"]
_COUNT = _SQL["conflicts_count"]

By = Literal["client", "judge"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """A superseded memory and what stands in its place, as that says it now; `details` are those of its event."""

    memory_id: UUID
    at: datetime
    retired_by: By
    type: MemoryType
    content: str | None
    author_client: str
    superseded_by: UUID
    kept_type: MemoryType
    kept_content: str | None
    kept_author: str
    kept_status: Status
    client: str | None
    details: dict[str, Any]
    reason: str | None
    source: str | None


async def settled(
    connection: asyncpg.Connection, scope: ProjectScope, *, by: By | None, after: Position | None, limit: int
) -> Page[Settled]:
    """The page that follows `after`; `by` None: whoever retired it."""
    place: list[Any] = [None, None] if after is None else [after.at, after.memory_id]
    rows = await connection.fetch(_CONFLICTS, scope.project_id, by, *place, limit + 1)
    total: int = await connection.fetchval(_COUNT, scope.project_id, by, COUNTED_UNFILTERED_MAX)
    entries = tuple(_settled(row) for row in rows[:limit])
    more = len(rows) > limit
    last = PAGES.encode(Position(entries[-1].at, entries[-1].memory_id)) if more else None
    return Page(entries, total, is_least=total == COUNTED_UNFILTERED_MAX, after=last)


def _settled(row: asyncpg.Record) -> Settled:
    details = orjson.loads(row["details"] or "{}")
    details.pop("superseded_by", None)
    kinds = {
        "type": MemoryType(row["type"]),
        "kept_type": MemoryType(row["kept_type"]),
        "kept_status": Status(row["kept_status"]),
        "details": details,
    }
    return Settled(**dict(row) | kinds)
