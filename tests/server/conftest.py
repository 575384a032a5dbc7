"""An application over the in-memory backend, and a client of it in this process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest
from mcp import Client
from mcp.server.lowlevel import Server
from mcp_types import Implementation

from server import caller
from server.application import Application
from server.gateway import Gateway
from shared import logs
from shared.settings import Settings
from tests.server.memory import InMemory, with_project


@pytest.fixture
def backend() -> InMemory:
    return with_project()


@pytest.fixture
def server(backend: InMemory) -> Server[object]:
    return serving(backend, Settings(project="app"))


@pytest.fixture(params=["legacy", "2026-07-28"])
async def client(request: pytest.FixtureRequest, server: Server[object]) -> AsyncIterator[Client]:
    """Both eras of the protocol."""
    async with _held(server, request.param) as client:
        yield client


@pytest.fixture
async def one_client(server: Server[object]) -> AsyncIterator[Client]:
    """The newer era alone, where the era makes no difference."""
    async with _held(server, "2026-07-28") as client:
        yield client


@asynccontextmanager
async def _held(server: Server[object], mode: str) -> AsyncIterator[Client]:
    """In a task of its own: fixtures are set up and torn down in different tasks, cancel scopes are not."""
    ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
    done = asyncio.Event()

    async def session() -> None:
        who = Implementation(name="test-client", version="1")
        async with Client(server, mode=mode, client_info=who) as client:
            ready.set_result(client)
            await done.wait()

    task = asyncio.create_task(session())
    yield await ready
    done.set()
    await task


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bytes]]:
    """The lines that would have gone to stderr."""
    lines: list[bytes] = []
    monkeypatch.setattr(logs, "_write", lines.append)
    monkeypatch.setattr(logging.getLogger("memhub"), "level", logging.INFO)
    logging.getLogger("memhub").manager._clear_cache()  # type: ignore[attr-defined]
    logs._logger.cache_clear()
    yield lines
    logs._logger.cache_clear()


def serving(backend: InMemory, settings: Settings) -> Server[object]:
    async def opener() -> InMemory:
        return backend

    gateway = Gateway(opener=opener)
    return Application(gateway=gateway, identify=caller.of_stdio(settings, aliases=dict)).server()
