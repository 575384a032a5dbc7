"""What other packages hang into the HTTP server: applications found by entry point, without an import either way."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, Literal, Protocol

from shared.principal import Principal
from shared.settings import Settings

GROUP = "memhub.mounts"

# What an ASGI application is, without importing a framework to say it.
AsgiApp = Callable[[Any, Any, Any], Awaitable[None]]


class Connections(Protocol):
    """An opened database, or one that is opened by the first `connection`, which then may raise BackendUnavailable."""

    def connection(self, work: Literal["read", "write"]) -> AbstractAsyncContextManager[Any]:
        """A connection in no transaction; what the driver raises inside leaves as a MemhubError."""
        ...


Authenticate = Callable[[str | None], Awaitable[Principal | None]]
"""Whom this secret lets in; None where it lets in nobody. It is asked at each request, so that a revoked one ends.

Without a secret (None) it answers a principal only where no credential is needed. It raises RateLimited for one that is
asked too often, and what the database raises.
"""


@dataclass(frozen=True, slots=True)
class Mount:
    """An application under `path`, such as `/ops`: it does its own authentication, and answers its own origin only.

    `build` is called once, before the server listens, and must touch no database.
    """

    path: str
    build: Callable[[Connections, Settings, Authenticate], AsgiApp]


def discover() -> list[Mount]:
    """What the installed distributions offer, in the order of their paths, one for each; loads them."""
    found: dict[str, Mount] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.value):
        mount = entry.load()
        assert isinstance(mount, Mount), f"{entry.value} is no Mount"
        found.setdefault(mount.path, mount)
    return [found[path] for path in sorted(found)]
