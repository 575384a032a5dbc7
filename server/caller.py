"""Who calls: the tenant and the defaults of this server, the client's name from the protocol."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp_types import CLIENT_INFO_META_KEY

from server.backend import ProjectHint
from server.call import Caller
from shared.domain import Author
from shared.settings import Settings

CLIENT_CHARACTERS_MAX = 128
UNKNOWN_CLIENT = "unknown"

Identify = Callable[[ServerRequestContext[Any, Any], str], Caller]


def of_stdio(settings: Settings, *, hint: Callable[[], ProjectHint]) -> Identify:
    """Identifies the one client of a stdio server; the hint is read once, with the first call."""
    hint = cache(hint)

    def identify(context: ServerRequestContext[Any, Any], request_id: str) -> Caller:
        return Caller(
            tenant=settings.tenant,
            author=Author(
                client=settings.client or client_name(context),
                conversation=settings.conversation,
                request_id=request_id,
            ),
            project=settings.project,
            hint=hint(),
        )

    return identify


def client_name(context: ServerRequestContext[Any, Any]) -> str:
    """The name in the handshake's clientInfo, else in the request's `_meta`, else `unknown`."""
    params = context.session.client_params
    if params is not None and (name := _clean(params.client_info.name)):
        return name
    info = (context.meta or {}).get(CLIENT_INFO_META_KEY)
    return (_clean(info.get("name")) if isinstance(info, dict) else "") or UNKNOWN_CLIENT


def _clean(name: object) -> str:
    if not isinstance(name, str):
        return ""
    return "".join(character for character in name if character.isprintable()).strip()[:CLIENT_CHARACTERS_MAX]
