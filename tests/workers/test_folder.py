"""The folder: every delta counts once, whoever folds and whoever writes meanwhile."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from uuid import UUID, uuid4

import asyncpg
import pytest

from shared.counters import CounterBuffer
from shared.database import Database
from shared.domain import ProjectScope
from shared.settings import Settings
from tests.workers.waiting import until
from workers import folder
from workers.folder import FolderActor

ROOT = Path(__file__).parents[2]

_FLUSHING_SERVER = """
import asyncio, sys
from uuid import UUID
import asyncpg
from shared.counters import CounterBuffer

async def main(url, project, memories, flushes):
    connection = await asyncpg.connect(url)
    await connection.execute("SET ROLE memhub_server")
    buffer = CounterBuffer()
    for _ in range(int(flushes)):
        buffer.count(UUID(project), [UUID(memory) for memory in memories.split(",")], "search")
        await buffer.flush(connection)
    await connection.close()

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.fixture
def folding(database: Database, settings: Settings) -> FolderActor:
    return FolderActor(database, settings)


async def append(connection: asyncpg.Connection, scope: ProjectScope, memory_ids: list[UUID]) -> None:
    for memory_id in memory_ids:
        buffer = CounterBuffer()
        buffer.count(scope.project_id, [memory_id], "search")
        await buffer.flush(connection)


async def totals(connection: asyncpg.Connection) -> dict[UUID, int]:
    rows = await connection.fetch("SELECT memory_id, search_hits FROM memhub.memory_counters")
    return {row["memory_id"]: row["search_hits"] for row in rows}


async def test_deltas_become_totals_and_are_gone(
    connection: asyncpg.Connection, scope: ProjectScope, folding: FolderActor
) -> None:
    memory_id = uuid4()
    await append(connection, scope, [memory_id] * 3)
    await folding.fold()
    await append(connection, scope, [memory_id] * 2)
    await folding.fold()

    assert await totals(connection) == {memory_id: 5}
    assert await connection.fetchval("SELECT count(*) FROM memhub.counter_deltas") == 0


async def test_a_fold_that_fails_has_deleted_nothing(
    connection: asyncpg.Connection, scope: ProjectScope, folding: FolderActor
) -> None:
    # Fails with two transactions in place of the one statement `fold`.
    memory_id = uuid4()
    await append(connection, scope, [memory_id])
    await connection.execute("ALTER TABLE memhub.memory_counters ADD CONSTRAINT never CHECK (search_hits < 1)")
    with pytest.raises(asyncpg.CheckViolationError):
        await folding.fold()
    await connection.execute("ALTER TABLE memhub.memory_counters DROP CONSTRAINT never")
    await folding.fold()

    assert await totals(connection) == {memory_id: 1}


async def test_two_folders_take_different_deltas(
    connection: asyncpg.Connection,
    server_connection: asyncpg.Connection,
    scope: ProjectScope,
    folding: FolderActor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Fails without SKIP LOCKED in `fold`: the second waits for the first.
    monkeypatch.setattr(folder, "BATCH_ROWS", 2)
    first, second = uuid4(), uuid4()
    await append(connection, scope, [first, first, second, second])
    transaction = server_connection.transaction()
    await transaction.start()
    assert await server_connection.fetchval(folder._FOLD, 2) == 2
    async with asyncio.timeout(60):
        await folding.fold()
    await transaction.commit()
    await folding.fold()

    assert await totals(connection) == {first: 2, second: 2}


async def test_totals_are_exact_while_eight_servers_flush_and_two_folders_fold(
    connection: asyncpg.Connection, database_url: str, scope: ProjectScope, folding: FolderActor
) -> None:
    memory_ids = [uuid4() for _ in range(5)]
    arguments = [database_url, str(scope.project_id), ",".join(map(str, memory_ids)), "30"]
    servers = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", _FLUSHING_SERVER, *arguments, env={"PYTHONPATH": str(ROOT)}
        )
        for _ in range(8)
    ]
    ended = asyncio.gather(*(server.wait() for server in servers))
    while not ended.done():
        await asyncio.gather(folding.fold(), folding.fold())
    assert await ended == [0] * 8
    await folding.fold()

    assert await totals(connection) == dict.fromkeys(memory_ids, 240)
    await until(connection, "SELECT NOT EXISTS (SELECT FROM memhub.counter_deltas)")
