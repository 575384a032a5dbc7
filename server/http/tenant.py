"""Reads the place of a request once, before MCP: what is wrong with it is told by the call that needs it."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from server.http import place
from server.http.place import Place
from shared.errors import MemhubError
from shared.principal import ANYONE

PLACE = "memhub.place"
PRINCIPAL = "memhub.principal"


class TenantMiddleware:
    """Leaves a Place, or the error that stands instead of it: handshake and listings need no tenant."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope[PLACE] = _read(scope)
        await self._app(scope, receive, send)


def _read(scope: Scope) -> Place | MemhubError:
    try:
        return place.read(Headers(scope=scope), scope.get(PRINCIPAL, ANYONE))
    except MemhubError as refused:
        return refused
