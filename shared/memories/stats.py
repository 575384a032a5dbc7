"""What a project holds, counted exactly as its caller may see it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import asyncpg

from shared import statements
from shared.domain import Author, MemoryType, ProjectScope, Scope, Status
from shared.retrieval.results import share

LISTED_MAX = 5

_SQL = statements.load("stats")
_GROUPS = _SQL["groups"]
_COVERAGE = _SQL["coverage"]
_MOST_USED = _SQL["most_used"]
_LAST_WRITES = _SQL["last_writes"]


@dataclass(frozen=True, slots=True)
class Group:
    """Memories of one status, type and scope; `expired` of the ACTIVE ones are past their expiry."""

    status: Status
    type: MemoryType
    scope: Scope
    memories: int
    expired: int


@dataclass(frozen=True, slots=True)
class Used:
    """A memory that search may find, with the hits that were folded so far."""

    memory_id: UUID
    type: MemoryType
    content: str
    search_hits: int
    context_hits: int
    history_hits: int
    used_at: datetime


@dataclass(frozen=True, slots=True)
class Written:
    """The current revision of a memory that search may find."""

    memory_id: UUID
    revision: int
    type: MemoryType
    author_client: str
    updated_at: datetime
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """`embedded` of the `searchable` memories have vectors of the current model."""

    groups: tuple[Group, ...]
    searchable: int
    embedded: int
    most_used: tuple[Used, ...]
    last_writes: tuple[Written, ...]

    def by_status(self) -> dict[str, int]:
        return {status: sum(g.memories for g in self.groups if g.status is status) for status in Status}

    def by_type(self, status: Status = Status.ACTIVE) -> dict[str, int]:
        return {
            each: sum(g.memories for g in self.groups if (g.status, g.type) == (status, each)) for each in MemoryType
        }

    def by_scope(self, status: Status = Status.ACTIVE) -> dict[str, int]:
        return {each: sum(g.memories for g in self.groups if (g.status, g.scope) == (status, each)) for each in Scope}

    @property
    def expired(self) -> int:
        return sum(group.expired for group in self.groups)

    @property
    def semantic_coverage(self) -> float:
        """Share of the searchable memories that can be found by meaning, as a search tells it."""
        return share(self.embedded, self.searchable)


async def stats(connection: asyncpg.Connection, scope: ProjectScope, author: Author) -> Stats:
    """All read at one instant; another conversation's memories are not counted."""
    seen = (scope.project_id, author.conversation)
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        groups = await connection.fetch(_GROUPS, *seen)
        coverage = await connection.fetchrow(_COVERAGE, *seen)
        most_used = await connection.fetch(_MOST_USED, *seen, LISTED_MAX)
        last_writes = await connection.fetch(_LAST_WRITES, *seen, LISTED_MAX)
    assert coverage is not None
    return Stats(
        groups=tuple(_group(row) for row in groups),
        searchable=coverage["searchable"],
        embedded=coverage["embedded"],
        most_used=tuple(Used(**dict(row) | {"type": MemoryType(row["type"])}) for row in most_used),
        last_writes=tuple(Written(**dict(row) | {"type": MemoryType(row["type"])}) for row in last_writes),
    )


def _group(row: asyncpg.Record) -> Group:
    return Group(
        status=Status(row["status"]),
        type=MemoryType(row["type"]),
        scope=Scope(row["scope"]),
        memories=row["memories"],
        expired=row["expired"],
    )
