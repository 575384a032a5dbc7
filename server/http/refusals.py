"""What an HTTP caller hears when the request does not come as far as MCP."""

from __future__ import annotations

from collections.abc import Mapping

import orjson
from starlette.responses import Response

from shared import logs


def refusal(
    status: int,
    code: str,
    message: str,
    *,
    next: str,
    retryable: bool = False,
    headers: Mapping[str, str] | None = None,
    extra: Mapping[str, str] | None = None,
) -> Response:
    """A JSON body with the four fields of every refusal, and one line in the log."""
    logs.event("http_refused", level="WARNING", status=status, code=code)
    body = {"code": code, "message": message, "retryable": retryable, "next": next, **(extra or {})}
    return Response(orjson.dumps(body), status_code=status, headers=dict(headers or {}), media_type="application/json")
