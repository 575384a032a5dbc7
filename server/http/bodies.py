"""Bodies that the SDK's parsers refuse for one character or take for what they are not, read as stdio reads its lines.

A parser of bytes cannot be given a lone surrogate: it gets a scrubbed body, and the tool its arguments as they were
sent, so that the refusal names the argument.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server import lenient

_SENT = "memhub.arguments"
_SUSPECT = re.compile(rb'\\u[dD][89a-fA-F]|"id"\s*:\s*(?:[^\s"\d-]|-?\d+[.eE])')
"""A surrogate, in a pair or alone, or an id that may be neither string nor integer."""

# A digit first, so that the search passes over all else; of a run only its beginning is looked at.
_LONG = re.compile(rb"\d(?<!\d\d)\d{%d}" % lenient.DIGITS_MAX)


class Readable:
    """Stands behind the bound of the body, which leaves it whole in one message."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        first = await receive()
        if first["type"] != "http.request" or first["more_body"]:
            return  # Its client has left in the middle of it.
        if _is_suspect(first["body"]):
            value = _parsed(first["body"])
            if lenient.has_unusable_id(value):
                await _unusable()(scope, receive, send)
                return
            first = _scrubbed(scope, first, value)
        scope["headers"] = [_in_lower_case(header) for header in scope["headers"]]
        await self._app(scope, _beginning_with(first, receive), send)


async def as_sent(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Gives a tool's call the arguments that Readable took out of its body."""
    sent = None if ctx.request is None else ctx.request.scope.get(_SENT)
    if sent is not None:
        ctx = replace(ctx, params={**(ctx.params or {}), "arguments": sent})
    return await call_next(ctx)


def _in_lower_case(header: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
    """A media type is the same in either case (RFC 9110, 8.3.1); the SDK compares it as it is."""
    name, value = header
    if name != b"content-type":
        return header
    kind, semicolon, parameters = value.partition(b";")
    return name, kind.lower() + semicolon + parameters


def _is_suspect(body: bytes) -> bool:
    if _SUSPECT.search(body) or _LONG.search(body):
        return True
    try:
        body.isascii() or body.decode()
    except UnicodeDecodeError:
        return True
    return False


def _parsed(body: bytes) -> Any:
    """None for what is no JSON: the SDK says so."""
    try:
        return lenient.parsed(body)
    except (ValueError, RecursionError):
        return None


def _scrubbed(scope: Scope, message: Message, value: Any) -> Message:
    try:
        clean = lenient.scrub(value)
    except RecursionError:
        return message
    if value is None or (clean == value and not _LONG.search(message["body"])):
        return message
    if (sent := lenient.arguments_of(value)) is not None:
        scope[_SENT] = sent
    return {**message, "body": json.dumps(clean).encode()}


def _beginning_with(message: Message, receive: Receive) -> Receive:
    messages = [message]

    async def replayed() -> Message:
        return messages.pop() if messages else await receive()

    return replayed


def _unusable() -> Response:
    body = lenient.UNUSABLE_ID.model_dump_json(by_alias=True, exclude_unset=True)
    return Response(body, status_code=HTTPStatus.BAD_REQUEST, media_type="application/json")
