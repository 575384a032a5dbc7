"""Whether the process lives, and whether it can serve: what probes ask."""

from __future__ import annotations

import asyncio
from http import HTTPStatus

import orjson
from starlette.requests import Request
from starlette.responses import Response

from server.gateway import Gateway
from shared.errors import BackendUnavailable, MemhubError

READY_WAIT_S = 3.0


async def live(_request: Request) -> Response:
    """Never touches the database: a process is not restarted because its database is away."""
    return _json(HTTPStatus.OK, {"status": "ok"})


class Readiness:
    """200 when the database answers and has this program's schema, else 503 with the reason.

    An absent fleet is told and is no reason: what it owes waits in the database, and calls are answered.
    """

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def answer(self, _request: Request) -> Response:
        try:
            async with asyncio.timeout(READY_WAIT_S):
                found = await (await self._gateway.backend()).health()
        except TimeoutError:
            return _refused(BackendUnavailable(f"The database did not answer within {READY_WAIT_S:g} s.", next="Wait."))
        except MemhubError as refused:
            return _refused(refused)
        return _json(HTTPStatus.OK, {"status": "ready", "database": "ok", "schema": "ok", "fleet": found.fleet})


def _refused(error: MemhubError) -> Response:
    return _json(HTTPStatus.SERVICE_UNAVAILABLE, {"status": "unready", "code": error.code, "message": error.message})


def _json(status: int, body: dict[str, str]) -> Response:
    headers = {"Cache-Control": "no-store"}
    return Response(orjson.dumps(body), status_code=status, headers=headers, media_type="application/json")
