"""Memories are locked in one order, by project and id, whoever locks them and in however many projects."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from shared import statements
from shared.database import Database
from shared.errors import BackendBusy
from shared.settings import Settings
from tests.memories.backends import WAIT_S, backends, until_blocked
from tests.memories.clients import client_of

_LOCK = r"FOR (?:NO KEY UPDATE|UPDATE|KEY SHARE|SHARE)\b"
_LOCKED = re.compile(rf"FROM memhub\.memories\b(?:(?!{_LOCK}).)*?(?:ORDER BY ([\w., ]+)\s+)?{_LOCK}", re.DOTALL)
_EMBEDDER = statements.load("embedding")["lock_memories"]
_IMPORT = statements.load("moving")["lock"]
_PURGE = statements.load("purge")["lock"]


def test_every_lock_of_memories_goes_by_project_and_id() -> None:
    # Fails with another ORDER BY in any statement that locks memories, or with none.
    orders = {
        (stem, name): (lock[1] or "").replace("memory.", "")
        for stem in statements.stems()
        for name, statement in statements.load(stem).items()
        for lock in _LOCKED.finditer(statement)
    }

    assert orders.pop(("memories", "lock")) == "id"  # of one project
    assert len(orders) >= 5
    assert set(orders.values()) == {"project_id, id"}


@pytest.mark.parametrize("several", ["import", "purge"])
async def test_who_locks_in_several_projects_meets_the_embedder_without_a_deadlock(
    database_url: str, connection: asyncpg.Connection, several: str
) -> None:
    # Fails with ORDER BY id in the statement of either: it holds the second memory and waits for the first.
    async with backends(database_url, 2) as (embedder, other):
        one, two = sorted(
            [await client_of(embedder, "one"), await client_of(embedder, "two")],
            key=lambda client: client.scope.project_id,
        )
        first = max([await one.saved(f"Fact {number}") for number in range(8)])
        second = min([await two.saved(f"Fact {number}") for number in range(8)])
        assert first > second
        pairwise = ([one.scope.project_id, two.scope.project_id], [first, second])
        met = locked(other, _PURGE, pairwise[1]) if several == "purge" else locked(other, _IMPORT, *pairwise)
        async with connection.transaction():
            await connection.execute("SELECT FROM memhub.memories WHERE id = $1 FOR UPDATE", first)
            waiting = [asyncio.create_task(locked(embedder, _EMBEDDER, *pairwise))]
            await until_blocked(connection, [embedder])
            waiting.append(asyncio.create_task(met))
            await until_blocked(connection, [other])
        async with asyncio.timeout(WAIT_S):
            await asyncio.gather(*waiting)


async def locked(connection: asyncpg.Connection, statement: str, *arguments: object) -> None:
    async with connection.transaction():
        assert len(await connection.fetch(statement, *arguments)) == 2


async def test_a_deadlock_is_told_as_busy_and_has_written_nothing(
    database: Database, connection: asyncpg.Connection
) -> None:
    # Fails without DeadlockDetectedError in database.translated.
    await connection.execute("CREATE TABLE memhub.two AS SELECT number FROM generate_series(1, 2) AS number")
    await connection.execute("GRANT SELECT, UPDATE ON memhub.two TO memhub_server")
    barrier = asyncio.Barrier(2)

    async def crossing(first: int, second: int) -> None:
        async with database.connection("write") as own, own.transaction():
            await own.execute("UPDATE memhub.two SET number = number + 10 WHERE number = $1", first)
            await barrier.wait()
            await own.execute("UPDATE memhub.two SET number = number + 10 WHERE number = $1", second)

    async with asyncio.timeout(WAIT_S):
        ended = await asyncio.gather(crossing(1, 2), crossing(2, 1), return_exceptions=True)

    [busy] = [each for each in ended if each is not None]
    assert isinstance(busy, BackendBusy)
    assert (
        busy.line == "Another writer and this one waited for each other; nothing was written. Call again in a moment."
    )
    assert [row["number"] for row in await connection.fetch("SELECT number FROM memhub.two ORDER BY 1")] == [11, 12]


@pytest.fixture
async def database(database_url: str, tmp_path: Path) -> AsyncIterator[Database]:
    database = await Database.open(
        database_url, Settings(database_url=database_url, data_dir=tmp_path), application="tests"
    )
    yield database
    await database.aclose()
