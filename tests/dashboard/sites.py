"""A dashboard over real HTTP, and a client of it that behaves as a browser does."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import uvicorn

from ops.dashboard.serving import alone
from shared.database import Database
from shared.mounts import AsgiApp
from shared.settings import Settings

KEY = "the-key-of-this-server"
HOST = "127.0.0.1"

_CSRF = re.compile(r'name="csrf" value="([^"]+)"')


class Site:
    """A client like a browser: keeps cookies, names its origin with every form, and takes the token of a page."""

    def __init__(self, address: str) -> None:
        self.address = address
        # The certificates of the machine, 55 ms to read, are no use here.
        self.client = httpx2.AsyncClient(base_url=address, timeout=60, verify=False)

    async def get(self, path: str, **query: Any) -> httpx2.Response:
        return await self.client.get(f"/ops{path}", params=query or None)

    async def text(self, path: str, **query: Any) -> str:
        answer = await self.get(path, **query)
        assert answer.status_code == 200, answer.text
        return answer.text

    async def send(self, path: str, fields: dict[str, str], *, origin: str | None = None) -> httpx2.Response:
        """A form as the page sends it, without its token."""
        return await self.client.post(
            f"/ops{path}", data=fields, headers={"Origin": self.address if origin is None else origin}
        )

    async def act(self, path: str, fields: dict[str, str] | None = None, *, page: str = "/tokens") -> httpx2.Response:
        """A form with the token of `page`, its redirect followed."""
        found = _CSRF.search(await self.text(page))
        assert found is not None
        answer = await self.send(path, {"csrf": found[1], **(fields or {})})
        return await self.client.get(answer.headers["location"]) if answer.status_code == 303 else answer

    async def log_in(self, credential: str) -> httpx2.Response:
        return await self.send("/login", {"credential": credential})


@asynccontextmanager
async def alone_at(url: str, settings: Settings) -> AsyncIterator[Site]:
    """The dashboard alone over that database."""
    database = await Database.open(url, settings, application="tests")
    try:
        async with serving(alone(database, settings)) as address:
            site = Site(address)
            async with site.client:
                yield site
    finally:
        await database.aclose()


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()


@asynccontextmanager
async def serving(app: AsgiApp) -> AsyncIterator[str]:
    """The address of an application on a port of its own."""
    server = _Server(uvicorn.Config(app, host=HOST, port=0, http="h11", log_config=None, ws="none", lifespan="off"))
    running = asyncio.create_task(server.serve())
    await asyncio.wait_for(server.listening.wait(), 60)
    try:
        yield f"http://{HOST}:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        await running
