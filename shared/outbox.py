"""The jobs that a write owes, as rows of procrastinate, and the nudge that wakes the fleet after the commit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import asyncpg
import orjson

from shared import statements
from shared.errors import MemhubError

EMBED_QUEUE = "embed"
COUNTERS_QUEUE = "counters"
RETENTION_QUEUE = "retention"
QUEUES = (EMBED_QUEUE, COUNTERS_QUEUE, RETENTION_QUEUE)

EMBED_TASK = "embed_revision"
SWEEP_TASK = "sweep_embeddings"

_CLOSE_S = 1.0
_WAKE = statements.load("fleet")["wake"]


@dataclass(frozen=True, slots=True)
class Job:
    """A job to defer: the queue and the task's name as the fleet registers them, arguments that JSON can hold."""

    queue: str
    task: str
    arguments: Mapping[str, Any]


def embed_job(*, project_id: UUID, memory_id: UUID, revision: int, traceparent: str | None = None) -> Job:
    """The job of that revision; with the W3C trace context of the write, under which it then runs."""
    arguments = {"project_id": str(project_id), "memory_id": str(memory_id), "revision_no": revision}
    traced = {} if traceparent is None else {"traceparent": traceparent}
    return Job(queue=EMBED_QUEUE, task=EMBED_TASK, arguments=arguments | traced)


def encode(*jobs: Job) -> str:
    """The jobs as the JSON text that statements hand to procrastinate_defer_jobs_v1.

    Priority and arguments are always given (a NULL priority aborts the writer), a queueing lock never: on the
    request path a duplicate would abort the write and an uncommitted one would block every other writer.
    """
    return orjson.dumps(
        [{"queue_name": job.queue, "task_name": job.task, "priority": 0, "args": job.arguments} for job in jobs]
    ).decode()


class Waker:
    """Wakes the fleet after a commit: at most one notification per process every `interval_s`, for all queues owed.

    The job row is the promise; a notification only saves the wait of a poll, and losing one loses nothing.
    """

    def __init__(
        self, connect: Callable[[], AbstractAsyncContextManager[asyncpg.Connection]], *, interval_s: float = 0.05
    ) -> None:
        """`connect` lends a connection that is in no transaction, as `Database.connection("read")` does."""
        self._connect = connect
        self._interval_s = interval_s
        self._owed: set[str] = set()
        self._waking: asyncio.Task[None] | None = None

    def wake(self, queue: str = EMBED_QUEUE) -> None:
        """Returns at once; call it after the commit, on the event loop."""
        self._owed.add(queue)
        if self._waking is None or self._waking.done():
            self._waking = asyncio.create_task(self._wake(), name="waker")

    async def aclose(self) -> None:
        """Sends what is owed and ends."""
        if self._waking is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._waking, _CLOSE_S)

    async def _wake(self) -> None:
        while self._owed:
            queues, self._owed = sorted(self._owed), set()
            with suppress(MemhubError, asyncpg.PostgresError, OSError):
                async with self._connect() as connection:
                    await connection.execute(_WAKE, queues)
            await asyncio.sleep(self._interval_s)
