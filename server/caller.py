"""Who calls: the tenant and the defaults of this server, the client's name from the protocol."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp_types import CLIENT_INFO_META_KEY

from server.call import Caller
from shared import limits
from shared.domain import Aliases, Author
from shared.settings import Settings

UNKNOWN_CLIENT = "unknown"


@dataclass(frozen=True, slots=True)
class Asked:
    """The request that a call is: its id in log, audit and trace, and what its jobs carry of the trace."""

    request_id: str
    traceparent: str | None


Identify = Callable[[ServerRequestContext[Any, Any], Asked], Caller]


def of_stdio(settings: Settings, *, aliases: Callable[[], Aliases]) -> Identify:
    """Identifies the one client of a stdio server; the aliases are read once, with the first call."""
    aliases = cache(aliases)
    project = limits.project(settings.project, "MEMHUB_PROJECT")

    def identify(context: ServerRequestContext[Any, Any], asked: Asked) -> Caller:
        author = Author(
            client=limits.client_name(settings.client) if settings.client else client_name(context),
            conversation=settings.conversation,
            request_id=asked.request_id,
            traceparent=asked.traceparent,
        )
        return Caller(tenant=settings.tenant, author=author, project=project, aliases=aliases())

    return identify


def client_name(context: ServerRequestContext[Any, Any]) -> str:
    """The name in the handshake's clientInfo, else in the request's `_meta`, else `unknown`."""
    params = context.session.client_params
    name = limits.client_name(params.client_info.name) if params is not None else UNKNOWN_CLIENT
    if name == UNKNOWN_CLIENT and isinstance(info := (context.meta or {}).get(CLIENT_INFO_META_KEY), dict):
        return limits.client_name(info.get("name"))
    return name
