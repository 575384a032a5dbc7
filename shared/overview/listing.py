"""Pages of the memories of a project by their status, for people: also of what search never finds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

import asyncpg

from shared import statements
from shared.domain import MemoryType, ProjectScope, Status
from shared.overview.views import COUNTED_MAX, COUNTED_UNFILTERED_MAX, PAGES, Page
from shared.paging import Position

_SQL = statements.load("overview")
_ACTIVE, _ACTIVE_COUNT = _SQL["active"], _SQL["active_count"]
_EXPIRED, _EXPIRED_COUNT = _SQL["expired"], _SQL["expired_count"]
_RETIRED, _RETIRED_COUNT = _SQL["retired"], _SQL["retired_count"]


class Standing(StrEnum):
    """What became of a memory, as people ask for it; only what is active can be found by a client."""

    ACTIVE = "active"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"
    FORGOTTEN = "forgotten"


_STATUS = {Standing.SUPERSEDED: Status.SUPERSEDED.value, Standing.FORGOTTEN: Status.DELETED.value}


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """All of `tags` must be there; `conversation` shows its own memories beside the project's."""

    standing: Standing = Standing.ACTIVE
    types: tuple[MemoryType, ...] | None = None
    tags: tuple[str, ...] = ()
    conversation: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """`at` is what the list is ordered by: the birth of what is active, the end of what is not."""

    memory_id: UUID
    revision: int
    status: str
    type: MemoryType
    content: str | None
    truncated: bool | None
    tags: tuple[str, ...]
    importance: int | None
    author_client: str
    expires_at: datetime | None
    at: datetime
    updated_at: datetime
    conversational: bool


async def listing(
    connection: asyncpg.Connection, scope: ProjectScope, filters: Filters, *, after: Position | None, limit: int
) -> Page[Entry]:
    """The page that follows `after`, the latest first."""
    types = None if filters.types is None else [each.value for each in filters.types]
    chosen: list[Any] = [scope.project_id, filters.conversation, types, list(filters.tags)]
    place: list[Any] = [None, None] if after is None else [after.at, after.memory_id]
    status = [_STATUS[filters.standing]] if filters.standing in _STATUS else []
    statement, count = _statements(filters.standing)
    rows = await connection.fetch(statement, *chosen, *place, limit + 1, *status)
    is_filtered = bool(filters.types or filters.tags) or filters.standing is Standing.EXPIRED
    most = COUNTED_MAX if is_filtered else COUNTED_UNFILTERED_MAX
    total: int = await connection.fetchval(count, *chosen, most, *status)
    entries = tuple(_entry(row) for row in rows[:limit])
    more = len(rows) > limit
    last = PAGES.encode(Position(entries[-1].at, entries[-1].memory_id)) if more else None
    return Page(entries, total, is_least=total == most, after=last)


def _statements(standing: Standing) -> tuple[str, str]:
    match standing:
        case Standing.ACTIVE:
            return _ACTIVE, _ACTIVE_COUNT
        case Standing.EXPIRED:
            return _EXPIRED, _EXPIRED_COUNT
        case Standing.SUPERSEDED | Standing.FORGOTTEN:
            return _RETIRED, _RETIRED_COUNT


def _entry(row: asyncpg.Record) -> Entry:
    return Entry(**dict(row) | {"type": MemoryType(row["type"]), "tags": tuple(row["tags"])})
