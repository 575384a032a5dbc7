"""What an actor leaves behind: a row for each run, and the reason of a job that failed."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, suppress
from typing import Any

from procrastinate import JobContext
from procrastinate.middleware import AsyncCallNext, WorkerMiddleware
from procrastinate.worker import Worker

from shared import logs, runs, statements
from shared.database import Database
from shared.errors import MemhubError
from shared.runs import Details, reason
from workers.embedding.errors import EmbeddingStopped

_RECORD_JOB_ERROR = statements.load("fleet")["record_job_error"]


def recorded(database: Database, actor: str) -> AbstractAsyncContextManager[Details]:
    """shared.runs.recorded, without a row for a run that a stop of its worker cut short."""
    return runs.recorded(database, actor, unrecorded=(EmbeddingStopped,))


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
