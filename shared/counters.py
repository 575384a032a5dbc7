"""Hits counted in a server's memory and appended as deltas now and then, so that no reader ever waits for a row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

import asyncpg

from shared import statements

ENTRIES_MAX = 10_000

_APPEND = statements.load("counters")["append"]

# Whether the server committed before it went is not known.
_UNKNOWN = (asyncpg.PostgresConnectionError, asyncpg.AdminShutdownError, asyncpg.CrashShutdownError)

Use = Literal["search", "context", "history"]


@dataclass(frozen=True, slots=True)
class Flushes:
    """What became of the flushes of a process, and hits that were not counted for want of room."""

    written: int
    failed: int
    missed: int


class CounterBuffer:
    """What was used since the last flush; beyond `entries_max` new memories are not counted, and `missed` tells."""

    def __init__(self, *, entries_max: int = ENTRIES_MAX) -> None:
        self.missed = 0
        self._entries_max = entries_max
        self._hits: Counter[tuple[UUID, UUID, Use]] = Counter()

    def __len__(self) -> int:
        return len(self._hits)

    def count(self, project_id: UUID, memory_ids: Iterable[UUID], use: Use) -> None:
        """One hit for each memory; touches no database."""
        for memory_id in memory_ids:
            self._add((project_id, memory_id, use), 1)

    async def flush(self, connection: asyncpg.Connection) -> int:
        """Appends what was counted in one INSERT, commits, and returns the rows.

        What the server refused stays counted. What was under way when the connection died or the caller was
        cancelled may have been committed and is let go: a hit is never counted twice.
        """
        taken, self._hits = self._hits, Counter()
        if not taken:
            return 0
        try:
            await connection.execute(
                _APPEND,
                [project_id for project_id, _, _ in taken],
                [memory_id for _, memory_id, _ in taken],
                [use for _, _, use in taken],
                list(taken.values()),
            )
        except _UNKNOWN:
            raise
        except asyncpg.PostgresError:
            for key, hits in taken.items():
                self._add(key, hits)
            raise
        return len(taken)

    def _add(self, key: tuple[UUID, UUID, Use], hits: int) -> None:
        if key in self._hits or len(self._hits) < self._entries_max:
            self._hits[key] += hits
        else:
            self.missed += hits
