"""What took the place of what: the contradictions of a project that were settled, newest first."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

import asyncpg

from shared import statements
from shared.domain import Author, MemoryType, ProjectScope, Status
from shared.memories.requests import ConflictState
from shared.paging import Pages, Position

_RESOLVED = statements.load("conflicts")["resolved"]

_PAGES = Pages(
    argument="cursor",
    unreadable="is not a cursor of memory_conflicts",
    of_another="belongs to another project",
    next="Pass next_cursor of the page before, or leave it out.",
)

NOTHING_OPEN = (
    "Contradictions are not detected automatically yet, so none are listed as open; that does not mean that there are"
    " none. Compare what memory_search finds, and settle one with memory_remember and supersedes."
)
NONE_RESOLVED = "Nothing that you may see was superseded in this project."
NO_MORE = "There are no older ones."
RESOLVED = "What is listed as replaced no longer holds; memory_history tells the whole of either side."


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """A memory and what replaced it, as both were then; content is None where it was purged.

    `reason` is what was given for it, `successor_source` where the replacing words came from.
    """

    memory_id: UUID
    type: MemoryType
    content: str | None
    retired_at: datetime
    retired_by: Literal["client", "judge"]
    client: str | None
    reason: str | None
    superseded_by: UUID
    successor_status: Status
    successor_revision: int
    successor_type: MemoryType
    successor_content: str | None
    successor_source: str | None


@dataclass(frozen=True, slots=True)
class Conflicts:
    conflicts: tuple[Conflict, ...]
    guidance: str
    next_cursor: str | None


async def conflicts(
    connection: asyncpg.Connection,
    scope: ProjectScope,
    author: Author,
    *,
    state: ConflictState = ConflictState.RESOLVED,
    limit: int,
    cursor: str | None = None,
) -> Conflicts:
    """A page of what this caller may see. Raises InvalidArgument for a cursor of another project."""
    after = _PAGES.decode(cursor, of=str(scope.project_id))
    if state is ConflictState.OPEN:
        return Conflicts(conflicts=(), guidance=NOTHING_OPEN, next_cursor=None)
    rows = await connection.fetch(
        _RESOLVED,
        scope.project_id,
        author.conversation,
        limit + 1,
        after and after.at,
        after and after.memory_id,
    )
    page = rows[:limit]
    if not page:
        return Conflicts(conflicts=(), guidance=NO_MORE if cursor else NONE_RESOLVED, next_cursor=None)
    return Conflicts(
        conflicts=tuple(_conflict(row) for row in page),
        guidance=RESOLVED,
        next_cursor=_cursor(page[-1], scope) if len(rows) > limit else None,
    )


def _conflict(row: asyncpg.Record) -> Conflict:
    return Conflict(
        **dict(row)
        | {
            "type": MemoryType(row["type"]),
            "successor_type": MemoryType(row["successor_type"]),
            "successor_status": Status(row["successor_status"]),
        }
    )


def _cursor(last: asyncpg.Record, scope: ProjectScope) -> str:
    return _PAGES.encode(Position(last["retired_at"], last["memory_id"]), of=str(scope.project_id))
