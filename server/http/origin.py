"""The outermost check of every request: which browser pages may call, and under which names we may be called."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from server.http.refusals import Refusals


class Hosts:
    """The names that a Host header may carry.

    Rebinding needs a name that an attacker controls: a literal address cannot be rebound, so beyond loopback
    every one is taken; a server on loopback is called by loopback names alone.
    """

    def __init__(self, *, bound: str, allowed: Iterable[str] = ()) -> None:
        self._names = frozenset({bound.lower().strip("[]"), *(_bare(name) for name in allowed if not _has_port(name))})
        self._with_port = frozenset(name for name in allowed if _has_port(name))
        self._loopback_only = is_loopback(bound)

    def allow(self, host: str) -> bool:
        host = host.lower()
        name = _bare(host)
        if name in self._names or host in self._with_port:
            return True
        return is_loopback(name) or (not self._loopback_only and _is_address(name))


class OriginMiddleware:
    """Refuses a foreign or `null` Origin with 403 and a foreign Host with 421, on every path."""

    def __init__(self, app: ASGIApp, *, origins: Iterable[str], hosts: Hosts, refusals: Refusals) -> None:
        self._app = app
        self._refusals = refusals
        self._origins = frozenset(origins)
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refused = self._refused(Headers(scope=scope)) if scope["type"] == "http" else None
        await (refused or self._app)(scope, receive, send)

    def _refused(self, headers: Headers) -> Response | None:
        if any(origin.lower() not in self._origins for origin in headers.getlist("origin")):
            return self._refusals.refusal(
                403,
                "FORBIDDEN",
                "Origin: pages of this origin may not call this server.",
                next="Add the origin to MEMHUB_ALLOWED_ORIGINS, or call without an Origin header.",
            )
        hosts = headers.getlist("host")
        return None if len(hosts) == 1 and self._hosts.allow(hosts[0]) else self._refusals.misdirected()


def is_loopback(name: str) -> bool:
    name = name.strip("[]")
    return name == "localhost" or (_is_address(name) and ip_address(name).is_loopback)


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _bare(host: str) -> str:
    """The name without brackets and port."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] if _has_port(host) else host


def _has_port(host: str) -> bool:
    return host.rpartition("]")[2].rpartition(":")[2].isdigit() and ":" in host.rpartition("]")[2]
