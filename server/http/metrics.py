"""What a server process counts, as Prometheus reads it; every label has few values, none of them a caller's."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server import tools
from server.backend import Load
from server.gateway import Gateway
from shared.errors import MemhubError

LOAD_FRESH_S = 5.0
LOAD_WAIT_S = 2.0

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0)
_PATHS = frozenset({"/mcp", "/livez", "/health", "/readyz", "/metrics"})
_WRITES = frozenset(tool.name for tool in tools.ALL if not tool.hints.read_only_hint)


class Metrics:
    """Told of each call by its record, of each response by `counting`; asks the database only when it is read."""

    def __init__(self, gateway: Gateway, *, watches: Callable[[], int]) -> None:
        self._gateway = gateway
        self._watches = watches
        self._loaded_s = -LOAD_FRESH_S
        self.registry = registry = CollectorRegistry()
        self._calls = Counter("memhub_tool_calls", "Tool calls.", ["tool", "outcome"], registry=registry)
        self._seconds = Histogram(
            "memhub_tool_call_seconds", "Time of tool calls.", ["tool", "outcome"], buckets=_SECONDS, registry=registry
        )
        self._resources = Counter(
            "memhub_resource_calls", "Reads of and subscriptions to resources.", ["event", "outcome"], registry=registry
        )
        self._writes = Counter("memhub_writes", "What became of writes.", ["outcome"], registry=registry)
        self._conflicts = Counter("memhub_conflicts", "Revisions that came second.", registry=registry)
        self._degraded = Counter(
            "memhub_degraded_answers", "Answers without one of their legs.", ["tool"], registry=registry
        )
        self._screened = Counter(
            "memhub_screening_refusals", "Texts that looked like credentials.", ["detector"], registry=registry
        )
        self._responses = Counter("memhub_http_responses", "Responses.", ["path", "status"], registry=registry)
        self._watched = Gauge("memhub_watched_resources", "Resources that sessions watch.", registry=registry)
        self._up = Gauge("memhub_database_up", "1 when the database answered this scrape.", registry=registry)
        self._pool = Gauge("memhub_pool_connections", "Database connections.", ["pool", "state"], registry=registry)
        self._jobs = Gauge("memhub_queue_jobs", "Jobs of the fleet.", ["queue", "status"], registry=registry)
        self._oldest = Gauge("memhub_queue_oldest_seconds", "Age of the oldest due job.", ["queue"], registry=registry)

    def called(self, event: str, name: str | None, *, outcome: str, seconds: float) -> None:
        if event != "tool_call" or name is None:
            self._resources.labels(event, outcome).inc()
            return
        self._calls.labels(name, outcome).inc()
        self._seconds.labels(name, outcome).observe(seconds)
        if name in _WRITES:
            self._writes.labels(outcome).inc()
        if outcome == "conflict":
            self._conflicts.inc()

    def degraded(self, tool: str) -> None:
        self._degraded.labels(tool).inc()

    def screened(self, detector: str) -> None:
        self._screened.labels(detector).inc()

    def counting(self, app: ASGIApp) -> ASGIApp:
        """The application, each of its responses counted."""

        async def counted(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            path = scope["path"] if scope["path"] in _PATHS else "other"

            async def watch(message: Message) -> None:
                if message["type"] == "http.response.start":
                    self._responses.labels(path, str(message["status"])).inc()
                await send(message)

            await app(scope, receive, watch)

        return counted

    async def answer(self, _request: Request) -> Response:
        self._watched.set(self._watches())
        await self._look()
        return Response(generate_latest(self.registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def _look(self) -> None:
        """At most one look at the database in LOAD_FRESH_S, however often we are scraped."""
        if time.monotonic() - self._loaded_s < LOAD_FRESH_S:
            return
        try:
            async with asyncio.timeout(LOAD_WAIT_S):
                self._show(await (await self._gateway.backend()).load())
        except (TimeoutError, MemhubError):
            self._up.set(0)
        else:
            self._up.set(1)
            self._loaded_s = time.monotonic()

    def _show(self, load: Load) -> None:
        for pool in load.pools:
            self._pool.labels(pool.work, "in_use").set(pool.in_use)
            self._pool.labels(pool.work, "idle").set(pool.idle)
            self._pool.labels(pool.work, "max").set(pool.connections_max)
        for queue in load.queues:
            for status, jobs in (("todo", queue.todo), ("doing", queue.doing), ("failed", queue.failed)):
                self._jobs.labels(queue.queue, status).set(jobs)
            self._oldest.labels(queue.queue).set(queue.oldest_due_age_s or 0)
