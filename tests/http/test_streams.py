"""A request that stays open longer than its credential holds."""

from __future__ import annotations

import asyncio

import asyncpg
import httpx2
from starlette.types import Receive, Scope, Send

from server.gateway import Gateway
from server.http.auth import AuthMiddleware
from server.http.credentials import Credentials
from server.http.rates import Rates
from server.http.refusals import Refusals
from server.http.usage import Usage
from shared import api_tokens
from shared.settings import Settings
from tests.http.asked import Asked


async def test_what_was_not_answered_when_its_credential_lapsed_is_refused(connection: asyncpg.Connection) -> None:
    """Fails without the refusal in _streamed of server/http/auth.py: uvicorn answered 500 and told of an error."""
    issued = await api_tokens.create(connection, "acme", name="test")

    async def opener() -> Asked:
        return Asked(connection)

    async def slow(_scope: Scope, _receive: Receive, _send: Send) -> None:
        await api_tokens.revoke(connection, issued.token.id)
        await asyncio.Event().wait()

    gateway = Gateway(opener=opener)
    credentials = Credentials(Settings(), gateway=gateway, usage=Usage(gateway, flush_s=60), issuer=None)
    rates = Rates(per_s=100, clock=lambda: 0.0)
    app = AuthMiddleware(
        slow, credentials=credentials, rates=rates, refusals=Refusals(), metadata_url=None, recheck_s=0.2
    )
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://here") as http:
        refused = await http.get("/mcp", headers={"Authorization": f"Bearer {issued.secret}"})
    assert (refused.status_code, "revoked" in refused.json()["message"]) == (401, True)
