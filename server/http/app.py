"""The ASGI application: Origin, then auth, then tenant, then MCP and the probes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Route
from starlette.types import ASGIApp

from server.gateway import Gateway
from server.http import health
from server.http.origin import Hosts, OriginMiddleware
from server.http.tenant import TenantMiddleware
from shared.settings import Settings

MCP_PATH = "/mcp"
_CORS_MAX_AGE_S = 600
_CORS_EXPOSED = ("Mcp-Session-Id", "WWW-Authenticate", "Retry-After")


def build(settings: Settings, *, bound: str, gateway: Gateway, server: Server[Any]) -> ASGIApp:
    """The application of one process bound to the host `bound`; entering its lifespan begins to open the database."""
    # Plain JSON answers: nothing of ours streams but subscriptions, and they stream in either mode.
    sessions = StreamableHTTPSessionManager(
        server,
        json_response=True,
        max_request_body_size=settings.http_body_bytes_max,
        max_sessions=settings.http_sessions_max,
        session_idle_timeout=settings.http_session_idle_s,
    )
    app: ASGIApp = Starlette(routes=_routes(gateway, sessions), lifespan=_lifespan(gateway, sessions))
    app = TenantMiddleware(app)
    if settings.allowed_origins:
        app = _answering_preflights(app, settings)
    hosts = Hosts(bound=bound, allowed=settings.allowed_hosts)
    return OriginMiddleware(app, origins=settings.allowed_origins, hosts=hosts)


def _routes(gateway: Gateway, sessions: StreamableHTTPSessionManager) -> list[Route]:
    return [
        Route("/livez", health.live),
        Route("/health", health.live),
        Route("/readyz", health.Readiness(gateway).answer),
        Route(MCP_PATH, StreamableHTTPASGIApp(sessions)),
    ]


def _lifespan(gateway: Gateway, sessions: StreamableHTTPSessionManager) -> Any:
    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        gateway.begin()
        try:
            async with sessions.run():
                yield
        finally:
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
