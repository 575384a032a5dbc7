"""What a search shows of a memory, and what it says about how much there is to find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg

from shared import statements
from shared.domain import Author, MemoryType, ProjectScope
from shared.retrieval.requests import Hit

_SQL = statements.load("retrieval")
_STORED = _SQL["stored"]
_STORED_AS_OF = _SQL["stored_as_of"]
_WAS_STORED = _SQL["was_stored"]
_SHOWN = _SQL["shown"]
_SHOWN_AS_OF = _SQL["shown_as_of"]

COUNTED_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Stored:
    """Memories of the project that the caller can find, counted up to COUNTED_MAX, and the share that has vectors.

    `before`: nothing can be found now, and something was stored once.
    """

    project: str
    memories: int
    semantic_coverage: float
    before: bool = False

    def __str__(self) -> str:
        if self.memories < COUNTED_MAX:
            return "1 memory" if self.memories == 1 else f"{self.memories} memories"
        return f"{COUNTED_MAX:,} memories or more"


async def stored(
    connection: asyncpg.Connection, scope: ProjectScope, author: Author, as_of: datetime | None = None
) -> Stored:
    """Of what can be found now, or could be at `as_of`."""
    arguments = (scope.project_id, author.conversation, COUNTED_MAX)
    if as_of is None:
        row = await connection.fetchrow(_STORED, *arguments)
    else:
        row = await connection.fetchrow(_STORED_AS_OF, *arguments, as_of)
    assert row is not None
    memories = max(row["memories"], row["memories_counted"] or 0) if row["memories"] == COUNTED_MAX else row["memories"]
    without = memories if row["without_vector"] is None else row["without_vector"]
    before = as_of is None and not memories and await connection.fetchval(_WAS_STORED, *arguments[:2])
    return Stored(scope.slug, row["memories"], share(memories - without, memories), before=before)


async def shown(
    connection: asyncpg.Connection, scope: ProjectScope, revisions: Sequence[tuple[UUID, int]], as_of: datetime | None
) -> dict[UUID, asyncpg.Record]:
    """Rows with content by memory, for `hit`; what was retired since it was ranked is not among them."""
    memory_ids = [memory_id for memory_id, _ in revisions]
    numbers = [number for _, number in revisions]
    statement = _SHOWN if as_of is None else _SHOWN_AS_OF
    rows = await connection.fetch(statement, scope.project_id, memory_ids, numbers)
    return {row["memory_id"]: row for row in rows}


def hit(row: asyncpg.Record, *, score: float | None = None, why: dict[str, Any] | None = None) -> Hit:
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


def share(embedded: int, memories: int) -> float:
    """Of the memories that have vectors: 1 where nothing is missing, so of none too, and never while one is."""
    return 1.0 if embedded == memories else min(round(max(embedded, 0) / memories, 4), 0.9999)
