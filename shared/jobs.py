"""The jobs of the fleet for people: listed with their last failure, and put back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import asyncpg

from shared import statements
from shared.outbox import QUEUES

RETRIED_MAX = 1_000

JOB_MAX = 2**63 - 1

_SQL = statements.load("jobs")
_LISTED = _SQL["listed"]
_RETRY = _SQL["retry"]
_WAKE = statements.load("fleet")["wake"]


@dataclass(frozen=True, slots=True)
class Job:
    """`error` says why the last run failed, None when none did; `scheduled_at` None means due at once."""

    job_id: int
    queue: str
    task: str
    status: str
    attempts: int
    scheduled_at: datetime | None
    error: str | None
    failed_at: datetime | None


async def listed(connection: asyncpg.Connection, *, states: Sequence[str], queue: str | None, limit: int) -> list[Job]:
    """The newest first."""
    rows = await connection.fetch(_LISTED, list(states), queue, list(QUEUES), limit)
    return [Job(**row) for row in rows]


async def retry(connection: asyncpg.Connection, jobs: Sequence[int] | None) -> list[int]:
    """Puts these failed jobs back, or all, at most RETRIED_MAX, and wakes the fleet; commits. Gives their ids."""
    rows = await connection.fetch(_RETRY, None if jobs is None else list(jobs), list(QUEUES), RETRIED_MAX)
    if rows:
        await connection.execute(_WAKE, sorted({row["queue"] for row in rows}))
    return [row["job_id"] for row in rows]
