"""Subscriptions on any transport: told while they last, forgotten with their session."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from uuid import UUID

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp.shared.subscriptions import ResourceUpdated
from mcp_types import ResourceUpdatedNotification

from server import caller
from server.application import Application
from server.gateway import Gateway
from shared.domain import Change
from shared.settings import Settings
from tests.server.memory import InMemory, project_id, with_project

MEMORY_ID = UUID("00000000-0000-4000-8000-000000000001")
URI = f"memory://memories/{MEMORY_ID}"
WAIT_S = 120.0


def changed(tenant: str = "local", *, conversation: str | None = None, event: str = "revised") -> Change:
    return Change(tenant, project_id("app"), "app", MEMORY_ID, conversation, event)


def application(backend: InMemory) -> Application:
    async def opener() -> InMemory:
        return backend

    return Application(gateway=Gateway(opener=opener), identify=caller.of_stdio(Settings(), aliases=dict))


async def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


async def test_an_update_is_told_in_the_older_era_and_the_session_is_forgotten_with_its_end() -> None:
    # Fails without the callback on the connection's stack, and without `remove` in it.
    backend = with_project()
    served = application(backend)
    told: asyncio.Queue[str] = asyncio.Queue()

    async def hear(message: object) -> None:
        if isinstance(message, ResourceUpdatedNotification):
            await told.put(str(message.params.uri))

    async with Client(served.server(), mode="legacy", message_handler=hear) as client:
        with pytest.warns(MCPDeprecationWarning):
            await client.subscribe_resource(URI)
        assert served.subscriptions.hub.watches == 1
        backend.changes += [changed("other"), changed(conversation="c"), changed()]
        assert await asyncio.wait_for(told.get(), WAIT_S) == URI
        assert told.empty()
    await until(lambda: served.subscriptions.hub.watches == 0)
    await served.aclose()


async def test_an_update_is_told_in_the_newer_era_and_the_stream_is_forgotten_with_its_end() -> None:
    backend = with_project()
    served = application(backend)
    async with Client(served.server(), mode="2026-07-28") as client:
        async with client.listen(resource_subscriptions=[URI, "memory://nothing"]) as stream:
            assert served.subscriptions.hub.watches == 1
            backend.changes += [changed("other"), changed(event="attested"), changed()]
            assert await asyncio.wait_for(anext(aiter(stream)), WAIT_S) == ResourceUpdated(URI)
        await until(lambda: served.subscriptions.hub.watches == 0)
    await served.aclose()


async def test_closing_the_streams_ends_them_without_an_error() -> None:
    served = application(with_project())
    async with (
        Client(served.server(), mode="2026-07-28") as client,
        client.listen(resource_subscriptions=[URI]) as stream,
    ):
        served.subscriptions.close_streams()
        assert [event async for event in stream] == []
    await served.aclose()


async def test_nobody_watching_means_no_question_to_the_database() -> None:
    backend = with_project()
    served = application(backend)
    async with Client(served.server(), mode="2026-07-28") as client:
        async with client.listen(resource_subscriptions=[URI]):
            pass
        await until(lambda: served.subscriptions.hub.watches == 0)
        await until(lambda: not served.subscriptions.hub.is_following)
    await served.aclose()


@pytest.mark.parametrize("name", ["app", "APP", project_id("app")], ids=["slug", "capitals", "id"])
async def test_a_context_is_told_of_under_every_name_of_its_project(name: object) -> None:
    # Fails without the id in resources.changed_by.
    backend = with_project()
    served = application(backend)
    uri = f"memory://projects/{name}/context"
    async with (
        Client(served.server(), mode="2026-07-28") as client,
        client.listen(resource_subscriptions=[uri]) as stream,
    ):
        backend.changes.append(changed())
        assert await asyncio.wait_for(anext(aiter(stream)), WAIT_S) == ResourceUpdated(uri)
    await served.aclose()
