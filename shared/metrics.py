"""What servers and workers tell Prometheus alike: their connections, and the fleet as the database shows it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Generic, TypeVar

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector
from starlette.responses import Response

from shared.errors import MemhubError
from shared.status import Load, Model

LOAD_FRESH_S = 5.0
MODELS_FRESH_S = 60.0
"""Coverage counts all that is live: 90 ms of 100,000 memories on a busy machine."""

WAIT_S = 2.0
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0)

# Those that are retired stay in the database, and search knows one of each of these.
_MODEL_STATES = ("current", "building")

T = TypeVar("T")


class LoadCollector(Collector):
    """Yields what was seen last; what could not be seen is left out, but for `memhub_database_up`."""

    def __init__(
        self,
        *,
        load: Callable[[], Awaitable[Load]],
        models: Callable[[], Awaitable[Sequence[Model]]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._load = _Kept(load, fresh_s=LOAD_FRESH_S, clock=clock)
        self._models = _Kept(models, fresh_s=MODELS_FRESH_S, clock=clock)

    async def look(self) -> None:
        """At most one look at the database in LOAD_FRESH_S, however often we are scraped."""
        await self._load.refresh()
        if self._load.value is not None:
            await self._models.refresh()

    def collect(self) -> Iterator[Metric]:
        load = self._load.value
        yield GaugeMetricFamily("memhub_database_up", "1 when the database answered.", value=float(load is not None))
        yield from _of_load(load or Load(pools=(), queues=(), flushes=None))
        yield from _of_models((self._models.value or ()) if load is not None else ())

    def describe(self) -> Iterator[Metric]:
        return self.collect()


def response(registry: CollectorRegistry) -> Response:
    return Response(generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})


def _of_load(load: Load) -> Iterator[Metric]:
    pools = GaugeMetricFamily("memhub_pool_connections", "Database connections.", labels=["pool", "state"])
    for pool in load.pools:
        for state, connections in (("in_use", pool.in_use), ("idle", pool.idle), ("max", pool.connections_max)):
            pools.add_metric([pool.work, state], connections)
    jobs = GaugeMetricFamily("memhub_queue_jobs", "Jobs of the fleet.", labels=["queue", "status"])
    oldest = GaugeMetricFamily("memhub_queue_oldest_seconds", "Age of the oldest due job.", labels=["queue"])
    for queue in load.queues:
        for status, count in (("todo", queue.todo), ("doing", queue.doing), ("failed", queue.failed)):
            jobs.add_metric([queue.queue, status], count)
        oldest.add_metric([queue.queue], queue.oldest_due_age_s or 0)
    yield from (pools, jobs, oldest)
    if load.flushes is not None:
        flushes = CounterMetricFamily("memhub_counter_flushes", "Writes of what was counted.", labels=["outcome"])
        flushes.add_metric(["written"], load.flushes.written)
        flushes.add_metric(["failed"], load.flushes.failed)
        missed = CounterMetricFamily("memhub_counter_hits_missed", "Hits that found no room until the next flush.")
        missed.add_metric([], load.flushes.missed)
        yield from (flushes, missed)


def _of_models(models: Sequence[Model]) -> Iterator[Metric]:
    coverage = GaugeMetricFamily(
        "memhub_semantic_coverage", "Share of the live memories that has vectors.", labels=["model"]
    )
    work = GaugeMetricFamily("memhub_embedding_work", "Revisions without vectors.", labels=["model", "state"])
    for state, model in {model.state: model for model in models if model.state in _MODEL_STATES}.items():
        coverage.add_metric([state], model.coverage)
        work.add_metric([state, "waiting"], model.waiting - model.given_up)
        work.add_metric([state, "given_up"], model.given_up)
    yield from (coverage, work)


class _Kept(Generic[T]):
    """An answer of the database, asked for anew when it is older than `fresh_s`; None when none was had in WAIT_S.

    One that fails is not asked for sooner: a question too dear for a large database must not be put at every scrape.
    """

    def __init__(self, ask: Callable[[], Awaitable[T]], *, fresh_s: float, clock: Callable[[], float]) -> None:
        self.value: T | None = None
        self._ask = ask
        self._fresh_s = fresh_s
        self._clock = clock
        self._asked_s = -fresh_s

    async def refresh(self) -> None:
        if self._clock() - self._asked_s < self._fresh_s:
            return
        self._asked_s = self._clock()
        try:
            async with asyncio.timeout(WAIT_S):
                self.value = await self._ask()
        except (TimeoutError, MemhubError):
            self.value = None
