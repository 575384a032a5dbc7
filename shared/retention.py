"""What does not stay: expired memories leave the search tables, spent bookkeeping goes, and nothing else ever does."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager

import asyncpg

from shared import outbox, statements
from shared.database import Database
from shared.errors import MemhubError
from shared.runs import Details, recorded
from shared.settings import Settings

REAP_TASK = "reap_expired"
COLLECT_TASK = "collect_spent"

REAP_ROWS = 500
REAP_BATCHES_MAX = 200
BATCH_ROWS = 1_000
BATCHES_MAX = 500
RUNS_KEPT_MAX = 1_000

_SQL = statements.load("retention")
_LOCK_EXPIRED = _SQL["lock_expired"]
_KEYS = _SQL["collect_idempotency_keys"]
_JOBS = _SQL["collect_jobs"]
_WORK = _SQL["collect_embedding_work"]
_VECTORS = _SQL["collect_vectors"]
_PAST_VECTORS = _SQL["collect_past_vectors"]
_RUNS = _SQL["collect_runs"]
_SETTLE_WORDS = _SQL["settle_words"]
_MERGE_WORDS = _SQL["merge_words"]
_EXPIRE = statements.load("memories")["expire"]
_FOLD = statements.load("counters")["fold"]

Kind = tuple[str, str, Sequence[object]]


async def reap(database: Database) -> Details:
    """Takes expired memories out of the search tables, in transactions of REAP_ROWS; leaves a row of its run."""
    async with recorded(database, REAP_TASK) as details:
        details["memories"] = 0
        async for reaped in _reaped(database):
            details["memories"] += reaped
    return details


async def collect(database: Database, settings: Settings) -> Details:
    """Removes each kind of what is spent, in transactions of BATCH_ROWS; leaves a row of its run.

    Deltas that no folder took are folded, never dropped; what a killed import left of the index of words is settled.
    A kind that fails keeps no other from its turn: the first failure is raised when all were tried.
    """
    failures: list[Exception] = []
    async with recorded(database, COLLECT_TASK) as details:
        for kind, statement, arguments in _kinds(settings):
            details[kind] = 0
            with set_aside(failures):
                async for removed in _removed(database, statement, arguments):
                    details[kind] += removed
        with set_aside(failures):
            async with database.connection("write") as connection:
                details["settled_words"] = await connection.fetchval(_SETTLE_WORDS)
        with set_aside(failures):
            async with database.connection("write") as connection:
                await connection.execute(_MERGE_WORDS)
        if failures:
            raise failures[0]
    return details


@contextmanager
def set_aside(failures: list[Exception]) -> Iterator[None]:
    """Puts what the database or its driver refuses into `failures`, so that what comes next is tried all the same."""
    try:
        yield
    except (MemhubError, asyncpg.PostgresError) as failed:
        failures.append(failed)


def _kinds(settings: Settings) -> tuple[Kind, ...]:
    queues = list(outbox.QUEUES)
    ended = ["succeeded", "cancelled", "aborted"]
    return (
        ("idempotency_keys", _KEYS, (settings.idempotency_retention_days,)),
        ("ended_jobs", _JOBS, (queues, ended, settings.job_retention_days)),
        ("failed_jobs", _JOBS, (queues, ["failed"], settings.failed_job_retention_days)),
        ("embedding_work", _WORK, ()),
        ("vectors", _VECTORS, ()),
        ("past_vectors", _PAST_VECTORS, ()),
        ("runs", _RUNS, (settings.run_retention_days, RUNS_KEPT_MAX)),
        ("folded_deltas", _FOLD, ()),
    )


async def _removed(database: Database, statement: str, arguments: Sequence[object]) -> AsyncIterator[int]:
    for _ in range(BATCHES_MAX):
        async with database.connection("write") as connection:
            removed: int = await connection.fetchval(statement, *arguments, BATCH_ROWS)
        yield removed
        if removed < BATCH_ROWS:
            return


async def _reaped(database: Database) -> AsyncIterator[int]:
    for _ in range(REAP_BATCHES_MAX):
        async with database.connection("write") as connection, connection.transaction():
            locked = await connection.fetch(_LOCK_EXPIRED, REAP_ROWS)
            if not locked:
                return
            reaped: int = await connection.fetchval(
                _EXPIRE, [row["project_id"] for row in locked], [row["id"] for row in locked]
            )
        yield reaped
        if reaped == 0:
            return
