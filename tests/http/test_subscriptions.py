"""Updates of resources in both eras, from any process, to those alone who may read them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.http.callers import Era, RawClient, client
from tests.http.processes import WAIT_S, Process, serving
from tests.http.updates import watching

PROJECTS = "memory://projects"


@pytest.fixture(scope="module")
def second(tmp_path_factory: pytest.TempPathFactory, module_database_url: str) -> Iterator[Process]:
    """Another process on the same database."""
    with serving(tmp_path_factory.mktemp("second"), MEMHUB_DATABASE_URL=module_database_url) as process:
        yield process


async def remembered(raw: RawClient, content: str, **more: Any) -> str:
    stored = await raw.use("memory_remember", content=content, **more)
    memory_id: str = stored["memory"]["memory_id"]
    return memory_id


async def test_a_change_by_another_process_arrives_in_time(server: Process, second: Process, era: Era) -> None:
    tenant = f"near-{era}"
    async with client(server.url, era, tenant=tenant) as reader, client(second.url, era, tenant=tenant) as writer:
        async with watching(reader, PROJECTS) as updates:
            memory_id = await remembered(writer, "Pages have 20 rows.")
            assert await updates.next_uri() == PROJECTS
        uris = [f"memory://memories/{memory_id}", f"memory://memories/{memory_id}/history"]
        async with watching(reader, *uris) as updates:
            await writer.use("memory_revise", memory_id=memory_id, expected_revision=1, content="Pages have 50 rows.")
            assert {await updates.next_uri(), await updates.next_uri()} == set(uris)
            await writer.use("memory_forget", memory_id=memory_id)
            assert {await updates.next_uri(), await updates.next_uri()} == set(uris)


async def test_nobody_hears_of_what_he_may_not_read(server: Process, era: Era) -> None:
    tenant, conversation = f"heard-{era}", [("X-Conversation-Id", "c-1")]
    async with client(server.url, era, tenant=tenant) as owner:
        private = (await owner.call("memory_remember", headers=conversation, content="Here.", scope="conversation"))[
            "structuredContent"
        ]["memory"]["memory_id"]
        shared = await remembered(owner, "Everywhere.")
        hidden, seen = f"memory://memories/{private}", f"memory://memories/{shared}"
        async with (
            client(server.url, era, tenant=f"other-{era}") as stranger,
            client(server.url, era, tenant=tenant) as outside,
            client(server.url, era, tenant=tenant, headers=conversation) as inside,
            watching(stranger, hidden, seen, PROJECTS) as strange,
            watching(outside, hidden, seen) as general,
            watching(inside, hidden, seen) as intimate,
        ):
            await owner.call("memory_forget", headers=conversation, memory_id=private)
            assert await intimate.next_uri() == hidden
            await owner.use("memory_forget", memory_id=shared)
            assert await intimate.next_uri() == seen
            assert await general.next_uri() == seen
            await remembered(stranger, "The stranger's own.")
            assert await strange.next_uri() == PROJECTS
            assert strange.messages.empty()
            assert general.messages.empty()


async def test_what_was_unsubscribed_is_not_told(server: Process) -> None:
    async with client(server.url, "2025-11-25", tenant="unsubscribed") as raw:
        kept, dropped = [await remembered(raw, content) for content in ("Kept watch.", "Dropped watch.")]
        uris = [f"memory://memories/{memory_id}" for memory_id in (dropped, kept)]
        async with watching(raw, *uris) as updates:
            assert "result" in (await raw.request("resources/unsubscribe", {"uri": uris[0]})).json()
            await raw.use("memory_forget", memory_id=dropped)
            await raw.use("memory_forget", memory_id=kept)
            assert await updates.next_uri() == uris[1]
            assert updates.messages.empty()


async def test_a_uri_comes_back_as_it_was_written(server: Process, era: Era) -> None:
    async with client(server.url, era, tenant=f"spelling-{era}") as raw:
        memory_id = await remembered(raw, "Any spelling.")
        written = f"memory://memories/{memory_id.upper()}"
        async with watching(raw, written) as updates:
            await raw.use("memory_forget", memory_id=memory_id)
            assert await updates.next_uri() == written


async def test_a_subscription_needs_a_tenant_and_a_resource(server: Process) -> None:
    async with client(server.url, "2025-11-25") as raw:
        nowhere = (await raw.request("resources/subscribe", {"uri": PROJECTS})).json()
        assert nowhere["error"]["data"]["code"] == "TENANT_REQUIRED"
        headers = [("X-Memory-Tenant", "t")]
        nothing = (await raw.request("resources/subscribe", {"uri": "memory://nothing"}, headers=headers)).json()
        assert nothing["error"]["data"]["code"] == "INVALID_ARGUMENT"
    async with client(server.url, "2026-07-28") as raw:
        asked = {"notifications": {"resourceSubscriptions": [PROJECTS]}}
        refused = (await raw.request("subscriptions/listen", asked)).json()
        assert refused["error"]["data"]["code"] == "TENANT_REQUIRED"


async def test_more_resources_than_the_bound_are_refused(server: Process) -> None:
    uris = [f"memory://memories/00000000-0000-4000-8000-{number:012}" for number in range(257)]
    async with client(server.url, "2025-11-25", tenant="many") as raw:
        answers = [(await raw.request("resources/subscribe", {"uri": uri})).json() for uri in uris]
        assert [("result" in answer) for answer in answers] == [True] * 256 + [False]
        assert answers[-1]["error"]["data"]["code"] == "INVALID_ARGUMENT"
    async with client(server.url, "2026-07-28", tenant="many") as raw:
        asked = {"notifications": {"resourceSubscriptions": uris}}
        refused = (await raw.request("subscriptions/listen", asked)).json()
        assert refused["error"]["data"]["code"] == "INVALID_ARGUMENT"


async def test_an_update_that_commits_while_the_database_is_away_for_us_comes_afterwards(
    tmp_path: Path, database_url: str, era: Era
) -> None:
    with serving(tmp_path, MEMHUB_DATABASE_URL=database_url) as process:
        async with client(process.url, era, tenant="t") as raw:
            memory_id = await remembered(raw, "Before the break.")
            async with watching(raw, f"memory://memories/{memory_id}") as updates:
                with psycopg.connect(database_url, autocommit=True) as operator:
                    operator.execute(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                        " WHERE application_name LIKE 'memhub%' AND datname = current_database()"
                    )
                await _repeated(raw, memory_id)
                assert await updates.next_uri() == f"memory://memories/{memory_id}"


async def test_a_graceful_end_closes_a_listen_stream_with_its_result(tmp_path: Path, database_url: str) -> None:
    with serving(tmp_path, MEMHUB_DATABASE_URL=database_url) as process:
        async with client(process.url, "2026-07-28", tenant="t") as raw:
            async with watching(raw, PROJECTS) as updates:
                process.process.terminate()
                assert "result" in await updates.next()
            assert await asyncio.to_thread(process.process.wait, WAIT_S) == 0


async def _repeated(raw: RawClient, memory_id: str) -> None:
    """A forget that is sent again where its connection was lost."""
    deadline = time.monotonic() + WAIT_S
    while (await raw.call("memory_forget", memory_id=memory_id)).get("isError"):
        assert time.monotonic() < deadline
