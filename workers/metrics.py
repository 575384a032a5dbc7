"""What a worker process counts, as Prometheus reads it; its labels are names of ours, few of each."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from procrastinate import JobContext
from procrastinate.middleware import AsyncCallNext
from procrastinate.worker import Worker
from prometheus_client import CollectorRegistry, Counter, Histogram
from starlette.requests import Request
from starlette.responses import Response

from shared import metrics, status
from shared.database import Database
from shared.errors import BackendUnavailable
from shared.metrics import SECONDS, LoadCollector
from shared.settings import Settings
from shared.status import Load, Model
from workers.retry import STOPPED


class Metrics:
    """Of the process: shifts come and go, and with each a database."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._database: Database | None = None
        self.registry = registry = CollectorRegistry()
        self._jobs = Counter("memhub_jobs", "Runs of jobs.", ["task", "outcome"], registry=registry)
        self._seconds = Histogram("memhub_job_seconds", "Time of runs.", ["task"], buckets=SECONDS, registry=registry)
        self._load = LoadCollector(load=self._loaded, models=self._modelled)
        registry.register(self._load)

    @contextmanager
    def watching(self, database: Database) -> Iterator[None]:
        """Scrapes ask this database meanwhile."""
        self._database = database
        try:
            yield
        finally:
            self._database = None

    async def counted(self, call_next: AsyncCallNext, context: JobContext, _worker: Worker) -> Any:
        """Runs the job: succeeded, retried (it failed and runs again), failed for good, or stopped with its worker."""
        began_s = time.perf_counter()
        try:
            result = await call_next()
        except BaseException as error:
            self._tell(context, _outcome(error, context), began_s)
            raise
        self._tell(context, "succeeded", began_s)
        return result

    async def answer(self, _request: Request) -> Response:
        await self._load.look()
        return metrics.response(self.registry)

    def _tell(self, context: JobContext, outcome: str, began_s: float) -> None:
        self._jobs.labels(context.job.task_name, outcome).inc()
        self._seconds.labels(context.job.task_name).observe(time.perf_counter() - began_s)

    async def _loaded(self) -> Load:
        return await status.load(self._opened())

    async def _modelled(self) -> Sequence[Model]:
        async with self._opened().connection("read") as connection:
            return await status.models(connection, self._settings)

    def _opened(self) -> Database:
        if self._database is None:
            raise BackendUnavailable("The worker has no database at this moment.", next="Ask again in a moment.")
        return self._database


def _outcome(error: BaseException, context: JobContext) -> str:
    if isinstance(error, STOPPED):
        return "stopped"
    task = context.app.tasks[context.job.task_name]
    return "failed" if task.get_retry_exception(exception=error, job=context.job) is None else "retried"
