"""Applications of other packages beside MCP: they look after who comes in and from which page, by our credentials."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.routing import Mount as Path
from starlette.types import ASGIApp, Receive, Scope, Send

from server.gateway import Gateway
from server.http.credentials import Credentials
from server.http.origin import Hosts
from server.http.rates import Rates
from server.http.refusals import Refusals
from shared.mounts import Mount
from shared.principal import Principal
from shared.settings import Settings

PAGE_CALLS = 20
"""A page holds the loop for 20 to 150 ms, a call for 2 to 5."""


class MountMiddleware:
    """Stands before the check of Origin, which a mounted application does itself, and after that of Host."""

    def __init__(
        self, app: ASGIApp, *, mounts: Sequence[Mount], mounted: ASGIApp, hosts: Hosts, refusals: Refusals
    ) -> None:
        self._app = app
        self._refusals = refusals
        self._paths = tuple(mount.path for mount in mounts)
        self._mounted = mounted
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not self._is_mounted(scope["path"]):
            await self._app(scope, receive, send)
            return
        names = Headers(scope=scope).getlist("host")
        allowed = len(names) == 1 and self._hosts.allow(names[0])
        await (self._mounted if allowed else self._refusals.misdirected())(scope, receive, send)

    def _is_mounted(self, path: str) -> bool:
        return any(path == mounted or path.startswith(f"{mounted}/") for mounted in self._paths)


def build(
    mounts: Sequence[Mount], settings: Settings, *, gateway: Gateway, credentials: Credentials, rates: Rates
) -> ASGIApp:
    """All of them under their paths; the database is opened by their first request if nothing did before."""
    door = _Door(credentials, rates)
    return Starlette(routes=[Path(mount.path, mount.build(gateway, settings, door.authenticate)) for mount in mounts])


class _Door:
    """Counts the pages of a credential among its calls."""

    def __init__(self, credentials: Credentials, rates: Rates) -> None:
        self._credentials = credentials
        self._rates = rates

    async def authenticate(self, secret: str | None) -> Principal | None:
        principal = await self._credentials.authenticate(secret)
        if principal is not None:
            self._rates.admit(principal, calls=PAGE_CALLS)
        return principal
