"""What a worker does with its queue beside procrastinate: it says which process it is, and leaves room for upkeep."""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from procrastinate import PsycopgConnector
from procrastinate.jobs import Job, Status
from procrastinate.manager import JobManager, NotificationCallback, get_channel_for_queues

from shared import logs, statements
from shared.database import Database
from shared.outbox import EMBED_QUEUE

_INTRODUCE_WORKER = statements.load("fleet")["introduce_worker"]


@dataclass(frozen=True, slots=True)
class Orders:
    """What the command line asks of a worker."""

    queues: Sequence[str]
    concurrency: int

    @property
    def embeds_max(self) -> int:
        """Embedding jobs at a time: where upkeep is served too, one slot is never theirs.

        They wait for one model. A flood of large memories would hold every slot for minutes, and upkeep, which the
        queue prefers, could only be preferred when one of them is done.
        """
        upkeep = any(queue != EMBED_QUEUE for queue in self.queues)
        return max(1, self.concurrency - 1) if upkeep else self.concurrency


class Manager(JobManager):
    def __init__(self, connector: PsycopgConnector, database: Database, orders: Orders) -> None:
        super().__init__(connector)
        self._database = database
        self._orders = orders
        self._embedding: set[int | None] = set()
        self._nudge: NotificationCallback | None = None

    async def register_worker(self) -> int:
        """Says which process stands behind the heartbeat."""
        worker_id = await super().register_worker()
        queues = list(self._orders.queues)
        async with self._database.connection("write") as connection:
            await connection.execute(
                _INTRODUCE_WORKER, worker_id, socket.gethostname(), os.getpid(), queues, self._orders.concurrency
            )
        logs.event("worker_started", worker_id=worker_id, queues=queues)
        return worker_id

    async def listen_for_jobs(
        self, *, on_notification: NotificationCallback, queues: Iterable[str] | None = None
    ) -> None:
        self._nudge = on_notification
        await super().listen_for_jobs(on_notification=on_notification, queues=queues)

    async def fetch_job(self, queues: Iterable[str] | None, worker_id: int) -> Job | None:
        """The next job; none of the embed queue while `embeds_max` of them run in a worker that stays."""
        full = self._is_full
        open_queues = [queue for queue in self._orders.queues if not (full and queue == EMBED_QUEUE)]
        job = await super().fetch_job(open_queues, worker_id)
        if job is None and full and not self._is_full:
            job = await super().fetch_job(self._orders.queues, worker_id)
        if job is not None and job.queue == EMBED_QUEUE:
            self._embedding.add(job.id)
        return job

    async def finish_job(self, job: Job, status: Status, delete_job: bool) -> None:
        async with self._left(job):
            await super().finish_job(job, status, delete_job)

    async def retry_job(self, job: Job, *when: Any, **how: Any) -> None:
        async with self._left(job):
            await super().retry_job(job, *when, **how)

    @property
    def _is_full(self) -> bool:
        return self._nudge is not None and len(self._embedding) >= self._orders.embeds_max

    @asynccontextmanager
    async def _left(self, job: Job) -> AsyncIterator[None]:
        """Looks for a next job where this one made room: the worker found none for it and waits for its poll."""
        try:
            yield
        finally:
            was_full = self._is_full
            self._embedding.discard(job.id)
            if was_full and self._nudge is not None:
                [channel] = get_channel_for_queues([EMBED_QUEUE])
                await self._nudge(channel=channel, notification={"type": "job_inserted", "job_id": 0})
