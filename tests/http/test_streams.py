"""A request that stays open longer than its credential holds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import httpx2
import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.gateway import Gateway
from server.http.auth import AuthMiddleware
from server.http.credentials import Credentials
from server.http.rates import Rates
from server.http.refusals import Refusals
from server.http.usage import Usage
from shared import api_tokens
from shared.settings import Settings
from tests.http.asked import Asked

WAIT_S = 60


@pytest.fixture
async def operator(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    """Beside the connection of the middleware, which looks at the token while it is revoked."""
    operator = await asyncpg.connect(database_url)
    yield operator
    await operator.close()


async def test_what_was_not_answered_when_its_credential_lapsed_is_refused(
    connection: asyncpg.Connection, operator: asyncpg.Connection
) -> None:
    """Fails without the refusal in _streamed of server/http/auth.py: uvicorn answered 500 and told of an error."""
    issued = await api_tokens.create(connection, "acme", name="test")

    async def slow(_scope: Scope, _receive: Receive, _send: Send) -> None:
        await api_tokens.revoke(operator, issued.token.id)
        await asyncio.Event().wait()

    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app=_guarded(slow, connection)), base_url="http://here"
    ) as http:
        refused = await http.get("/mcp", headers={"Authorization": f"Bearer {issued.secret}"})
    assert (refused.status_code, "revoked" in refused.json()["message"]) == (401, True)


async def test_a_lapsed_stream_whose_reader_takes_nothing_is_waited_for_no_longer_than_its_bound(
    connection: asyncpg.Connection, operator: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fails without END_S in _streamed of server/http/auth.py: the request never ended."""
    monkeypatch.setattr("server.http.auth.END_S", 0.01)
    issued = await api_tokens.create(connection, "acme", name="test")
    sent: list[Message] = []

    async def streaming(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await api_tokens.revoke(operator, issued.token.id)
        await asyncio.Event().wait()

    async def stalled(message: Message) -> None:
        sent.append(message)
        if message["type"] == "http.response.body":
            await asyncio.Event().wait()

    async def silent() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    headers = [(b"authorization", f"Bearer {issued.secret}".encode())]
    scope = {"type": "http", "method": "GET", "path": "/mcp", "headers": headers, "client": ("here", 1)}
    async with asyncio.timeout(WAIT_S):
        await _guarded(streaming, connection)(scope, silent, stalled)
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]


def _guarded(app: ASGIApp, connection: asyncpg.Connection) -> AuthMiddleware:
    async def opener() -> Asked:
        return Asked(connection)

    gateway = Gateway(opener=opener)
    credentials = Credentials(Settings(), gateway=gateway, usage=Usage(gateway, flush_s=60), issuer=None)
    rates = Rates(per_s=100, clock=lambda: 0.0)
    return AuthMiddleware(
        app, credentials=credentials, rates=rates, refusals=Refusals(), metadata_url=None, recheck_s=0.2
    )
