"""What an actor leaves behind: a row for each run, and the reason of a job that failed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import asyncpg
import orjson
from procrastinate import JobContext
from procrastinate.middleware import AsyncCallNext, WorkerMiddleware
from procrastinate.worker import Worker

from shared import logs, statements
from shared.database import Database
from shared.errors import MemhubError
from workers.embedding.errors import EmbeddingStopped

ERROR_CHARS_MAX = 240

_SQL = statements.load("fleet")
_NOW = _SQL["now"]
_RECORD_RUN = _SQL["record_run"]
_RECORD_JOB_ERROR = _SQL["record_job_error"]

Details = dict[str, int]


@asynccontextmanager
async def recorded(database: Database, actor: str) -> AsyncIterator[Details]:
    """A row in memhub.fleet_runs with the numbers put into the details; an error is recorded and passes on."""
    details: Details = {}
    async with database.connection("write") as connection:
        started_at = await connection.fetchval(_NOW)
    try:
        yield details
    except EmbeddingStopped:
        raise
    except Exception as failed:
        # The database that failed the run may be the one that should record it.
        with suppress(MemhubError):
            await _record(database, actor, started_at, details, error=reason(failed))
        raise
    await _record(database, actor, started_at, details, error=None)


def errors_kept(database: Database) -> WorkerMiddleware:
    """Keeps the reason of every failed run beside its job, since procrastinate keeps none."""

    async def keep(call_next: AsyncCallNext, context: JobContext, _worker: Worker) -> Any:
        try:
            return await call_next()
        except EmbeddingStopped:
            raise
        except Exception as failed:
            logs.failure("job_failed", failed, job_id=context.job.id, task=context.job.task_name)
            with suppress(MemhubError):
                async with database.connection("write") as connection:
                    await connection.execute(_RECORD_JOB_ERROR, context.job.id, reason(failed))
            raise

    return keep


def reason(failed: BaseException) -> str:
    """Code and message of an error of ours, else its type: another's text may quote a memory."""
    if isinstance(failed, MemhubError):
        return f"{failed.code}: {failed.message}"[:ERROR_CHARS_MAX]
    if isinstance(failed, asyncpg.PostgresError):
        return f"{type(failed).__name__} ({failed.sqlstate})"
    return type(failed).__name__


async def _record(database: Database, actor: str, started_at: object, details: Details, *, error: str | None) -> None:
    outcome = "ok" if error is None else "failed"
    async with database.connection("write") as connection:
        await connection.execute(_RECORD_RUN, actor, started_at, outcome, orjson.dumps(details).decode(), error)
