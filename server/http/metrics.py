"""What a server process counts, as Prometheus reads it; every label has few values, none of them a caller's."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server import tools
from server.gateway import Gateway
from server.record import Leg
from shared import metrics
from shared.metrics import SECONDS, LoadCollector
from shared.status import Load, Model

_PATHS = frozenset({"/mcp", "/livez", "/health", "/readyz", "/metrics"})
_WRITES = frozenset(tool.name for tool in tools.ALL if not tool.hints.read_only_hint)


class Metrics:
    """Told of each call by its record, of each response by `counting`; asks the database only when it is read."""

    def __init__(self, gateway: Gateway, *, watches: Callable[[], int]) -> None:
        self._gateway = gateway
        self._watches = watches
        self.registry = registry = CollectorRegistry()
        self._calls = Counter("memhub_tool_calls", "Tool calls.", ["tool", "outcome"], registry=registry)
        self._seconds = Histogram(
            "memhub_tool_call_seconds", "Time of tool calls.", ["tool", "outcome"], buckets=SECONDS, registry=registry
        )
        self._legs = Histogram(
            "memhub_search_seconds", "Time of the parts of a search.", ["leg"], buckets=SECONDS, registry=registry
        )
        self._resources = Counter(
            "memhub_resource_calls", "Resources read and watched, prompts.", ["event", "outcome"], registry=registry
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
        self._load = LoadCollector(load=self._loaded, models=self._modelled)
        registry.register(self._load)

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

    def searched(self, leg: Leg, *, seconds: float) -> None:
        self._legs.labels(leg).observe(seconds)

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
        await self._load.look()
        return metrics.response(self.registry)

    async def _loaded(self) -> Load:
        return await (await self._gateway.backend()).load()

    async def _modelled(self) -> Sequence[Model]:
        return await (await self._gateway.backend()).models()
