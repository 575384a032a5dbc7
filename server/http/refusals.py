"""What an HTTP caller hears when the request does not come as far as MCP."""

from __future__ import annotations

from collections.abc import Mapping

import orjson
from starlette.responses import Response

from server.http.told import Told

_MISDIRECTED = 421


class Refusals:
    """Of one process: each of them is answered, and of each kind one is told now and then in the log."""

    def __init__(self) -> None:
        self._told: dict[tuple[int, str], Told] = {}

    def refusal(
        self,
        status: int,
        code: str,
        message: str,
        *,
        next: str,
        retryable: bool = False,
        headers: Mapping[str, str] | None = None,
        extra: Mapping[str, str] | None = None,
    ) -> Response:
        """A JSON body with the four fields of every refusal."""
        self._told.setdefault((status, code), Told("http_refused")).tell(status=int(status), code=code)
        body = {"code": code, "message": message, "retryable": retryable, "next": next, **(extra or {})}
        return Response(
            orjson.dumps(body), status_code=status, headers=dict(headers or {}), media_type="application/json"
        )

    def misdirected(self) -> Response:
        return self.refusal(
            _MISDIRECTED,
            "FORBIDDEN",
            "Host: this server is not called by that name.",
            next="Call it by the address that it listens on, or add the name to MEMHUB_ALLOWED_HOSTS.",
        )
