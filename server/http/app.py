"""The ASGI application: Origin, then auth, then tenant, then MCP and the probes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp
from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Route
from starlette.types import ASGIApp

from server.application import Application
from server.gateway import Gateway
from server.http import bodies, health, metadata, mounts, root
from server.http.auth import AuthMiddleware
from server.http.credentials import Credentials
from server.http.metrics import Metrics
from server.http.mounts import MountMiddleware
from server.http.origin import Hosts, OriginMiddleware
from server.http.rates import Rates
from server.http.refusals import Refusals
from server.http.sessions import Sessions
from server.http.tenant import TenantMiddleware
from server.http.usage import Usage
from server.timing import Timed
from shared.credentials import Issuer
from shared.mounts import discover
from shared.settings import Settings

MCP_PATH = "/mcp"
CLOSE_S = 1.5
_CORS_MAX_AGE_S = 600
_CORS_EXPOSED = ("Mcp-Session-Id", "WWW-Authenticate", "Retry-After")


@dataclass(frozen=True, slots=True)
class Doors:
    """What decides who comes in."""

    credentials: Credentials
    usage: Usage
    rates: Rates


def doors(settings: Settings, gateway: Gateway) -> Doors:
    usage = Usage(gateway, flush_s=settings.stats_flush_s)
    credentials = Credentials(settings, gateway=gateway, usage=usage, issuer=_issuer(settings))
    rates = Rates(per_s=settings.rate_limit_per_s, clock=time.monotonic)
    return Doors(credentials=credentials, usage=usage, rates=rates)


def _issuer(settings: Settings) -> Issuer | None:
    if settings.oauth_issuer is None:
        return None
    # Only who has an issuer pays for the import of cryptography.
    from server.http.keys import Keys  # noqa: PLC0415
    from server.http.oauth import OAuthIssuer  # noqa: PLC0415

    return OAuthIssuer(settings, Keys(settings.oauth_issuer))


def sessions(settings: Settings, application: Application) -> Sessions:
    server = application.server()
    server.middleware.append(bodies.as_sent)
    # Plain JSON answers where no call streams: subscriptions do in either mode.
    return Sessions(
        server,
        json_response=not application.streams_calls,
        max_request_body_size=settings.http_body_bytes_max,
        max_sessions=settings.http_sessions_max,
        caller_max=settings.sessions_per_caller_max,
        session_idle_timeout=settings.http_session_idle_s,
    )


def build(
    settings: Settings,
    *,
    bound: str,
    gateway: Gateway,
    application: Application,
    sessions: Sessions,
    doors: Doors,
) -> ASGIApp:
    """The application of one process bound to the host `bound`; entering its lifespan begins to open the database."""
    metrics = Metrics(gateway, watches=lambda: application.subscriptions.hub.watches)
    application.meter = timed = Timed(metrics, gateway, flush_s=settings.stats_flush_s)
    found = discover()
    at_root = Route("/", root.answering(MCP_PATH, [mount.path for mount in found]))
    routes = [at_root, *_routes(settings, gateway, sessions), Route("/metrics", metrics.answer)]
    app: ASGIApp = Starlette(routes=routes, lifespan=_lifespan(gateway, sessions, application, doors.usage, timed))
    app = TenantMiddleware(app)
    refusals = Refusals()
    app = AuthMiddleware(
        app,
        credentials=doors.credentials,
        rates=doors.rates,
        refusals=refusals,
        metadata_url=metadata.url(settings),
        recheck_s=settings.http_recheck_s,
    )
    if settings.allowed_origins:
        app = _answering_preflights(app, settings)
    hosts = Hosts(bound=bound, allowed=settings.allowed_hosts)
    app = OriginMiddleware(app, origins=settings.allowed_origins, hosts=hosts, refusals=refusals)
    mounted = mounts.build(found, settings, gateway=gateway, credentials=doors.credentials, rates=doors.rates)
    return metrics.counting(MountMiddleware(app, mounts=found, mounted=mounted, hosts=hosts, refusals=refusals))


def _routes(settings: Settings, gateway: Gateway, sessions: Sessions) -> list[Route]:
    describe = metadata.endpoint(settings)
    described = metadata.paths(settings, served=MCP_PATH) if settings.oauth_issuer else ()
    return [
        *(Route(path, describe) for path in described),
        Route("/livez", health.live),
        Route("/health", health.live),
        Route("/readyz", health.Readiness(gateway).answer),
        Route(MCP_PATH, StreamableHTTPASGIApp(sessions)),
    ]


def _lifespan(
    gateway: Gateway,
    sessions: Sessions,
    application: Application,
    usage: Usage,
    timed: Timed,
) -> Any:
    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        gateway.begin()
        noting, timing = asyncio.create_task(usage.run()), asyncio.create_task(timed.run())
        try:
            async with sessions.run():
                yield
        finally:
            noting.cancel()
            timing.cancel()
            await application.aclose()
            with anyio.move_on_after(CLOSE_S):
                await usage.flush()
                await timed.flush()
            with anyio.move_on_after(CLOSE_S):
                await gateway.aclose()

    return lifespan


def _answering_preflights(app: ASGIApp, settings: Settings) -> ASGIApp:
    return CORSMiddleware(
        app,
        allow_origins=settings.allowed_origins,
        allow_methods=("GET", "POST", "DELETE"),
        allow_headers=("*",),
        expose_headers=_CORS_EXPOSED,
        max_age=_CORS_MAX_AGE_S,
    )
