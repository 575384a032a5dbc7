"""The reaper: expired memories leave the search tables and nothing else."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from shared import retention
from shared.database import Database
from shared.domain import Memory, ProjectScope
from shared.errors import BackendUnavailable
from shared.memories.remember import remember
from shared.memories.requests import Remember, Revise
from shared.memories.revise import revise
from shared.settings import Settings
from tests.workers.conftest import AUTHOR, Write, vectors
from workers.reaper import ReaperActor

# Gone before the next statement begins: nothing is stored that has expired already.
MICROSECOND = 1 / 86_400_000_000


@pytest.fixture
def reaping(database: Database, settings: Settings) -> ReaperActor:
    return ReaperActor(database, settings)


async def expired(connection: asyncpg.Connection, scope: ProjectScope, content: str) -> Memory:
    memory = (await remember(connection, scope, AUTHOR, Remember(content=content, ttl_days=MICROSECOND))).memory
    assert memory is not None
    return memory


async def live(connection: asyncpg.Connection) -> int:
    count: int = await connection.fetchval("SELECT count(*) FROM memhub.live_memories")
    return count


async def test_an_expired_memory_leaves_the_live_set_stays_active_and_is_audited(
    connection: asyncpg.Connection, scope: ProjectScope, write: Write, reaping: ReaperActor
) -> None:
    memory, _ = await expired(connection, scope, "Short"), await write("Lasting")
    await reaping.reap()
    await reaping.reap()

    assert await live(connection) == 1
    assert await connection.fetchval("SELECT status FROM memhub.memories WHERE id = $1", memory.memory_id) == "ACTIVE"
    events = await connection.fetch("SELECT memory_id, tenant, client FROM memhub.audit_events WHERE event = 'expired'")
    assert [tuple(event) for event in events] == [(memory.memory_id, "local", "memhub")]


async def test_vectors_of_an_expired_memory_are_kept_for_the_past(
    connection: asyncpg.Connection, scope: ProjectScope, shelf: object, reaping: ReaperActor
) -> None:
    memory = await expired(connection, scope, "Short")
    await connection.execute(
        """INSERT INTO memhub.live_vectors (
               project_id, memory_id, revision_no, model_id, dimension, chunk_no, embedding)
           SELECT $1, $2, 1, id, 8, 0, '[1,0,0,0,0,0,0,0]' FROM memhub.embedding_models""",
        scope.project_id,
        memory.memory_id,
    )
    await reaping.reap()

    assert await vectors(connection, "retired_vectors", memory.memory_id) == [1]


async def test_a_memory_that_a_writer_holds_is_left_for_the_next_run(
    connection: asyncpg.Connection,
    server_connection: asyncpg.Connection,
    scope: ProjectScope,
    reaping: ReaperActor,
) -> None:
    # Fails without SKIP LOCKED in `lock_expired`; without any lock the revived row would be deleted.
    memory = await expired(connection, scope, "Revived in time")
    request = Revise(
        memory_id=memory.memory_id,
        expected_revision=1,
        content="Revived",
        expires_at=datetime.now(UTC) + timedelta(days=1),
    )
    transaction = server_connection.transaction()
    await transaction.start()
    await revise(server_connection, scope, AUTHOR, request)
    async with asyncio.timeout(60):
        await reaping.reap()
    await transaction.commit()
    await reaping.reap()

    assert await connection.fetchval("SELECT revision_no FROM memhub.live_memories") == 2


async def test_what_gives_way_to_a_writer_is_not_audited_again(
    connection: asyncpg.Connection,
    server_connection: asyncpg.Connection,
    scope: ProjectScope,
    reaping: ReaperActor,
) -> None:
    # Fails without SKIP LOCKED in `lock_expired`: the reaper would wait for the writer until its time limit.
    memory = await expired(connection, scope, "Said again")
    transaction = server_connection.transaction()
    await transaction.start()
    await remember(server_connection, scope, AUTHOR, Remember(content="Said again"))
    async with asyncio.timeout(60):
        await reaping.reap()
    await transaction.commit()
    await reaping.reap()

    told = await connection.fetch("SELECT memory_id FROM memhub.audit_events WHERE event = 'expired'")
    assert [row["memory_id"] for row in told] == [memory.memory_id]
    assert await live(connection) == 1


async def test_writers_and_a_reaper_at_the_same_time_audit_each_memory_once(
    connection: asyncpg.Connection, scope: ProjectScope, reaping: ReaperActor, database: Database
) -> None:
    # Fails without `audited` in the statement expire.
    contents = [f"Short, number {number}" for number in range(12)]
    gone = {(await expired(connection, scope, content)).memory_id for content in contents}

    async def said_again(content: str) -> None:
        async with database.connection("write") as own:
            assert (await remember(own, scope, AUTHOR, Remember(content=content))).outcome == "created"

    await asyncio.gather(*map(said_again, contents), *(reaping.reap() for _ in range(3)))
    await reaping.reap()

    told = await connection.fetch("SELECT memory_id FROM memhub.audit_events WHERE event = 'expired'")
    assert (len(told), {row["memory_id"] for row in told}) == (12, gone)
    assert await live(connection) == 12


async def test_two_reapers_audit_each_memory_once(
    connection: asyncpg.Connection,
    scope: ProjectScope,
    reaping: ReaperActor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(retention, "REAP_ROWS", 3)
    for number in range(12):
        await expired(connection, scope, f"Short, number {number}")
    await asyncio.gather(reaping.reap(), reaping.reap())
    await reaping.reap()

    counts = await connection.fetchrow(
        "SELECT count(*), count(DISTINCT memory_id) FROM memhub.audit_events WHERE event = 'expired'"
    )
    assert tuple(counts) == (12, 12)
    assert await live(connection) == 0


async def test_a_run_leaves_a_row(connection: asyncpg.Connection, scope: ProjectScope, reaping: ReaperActor) -> None:
    await expired(connection, scope, "Short")
    await reaping.reap()

    run = await connection.fetchrow("SELECT actor, outcome, details::text, error FROM memhub.fleet_runs")
    assert tuple(run) == ("reap_expired", "ok", '{"memories": 1}', None)


async def test_a_run_that_fails_leaves_its_reason(connection: asyncpg.Connection, reaping: ReaperActor) -> None:
    await connection.execute("REVOKE SELECT ON memhub.live_memories FROM memhub_server")
    with pytest.raises(BackendUnavailable):
        await reaping.reap()

    run = await connection.fetchrow("SELECT outcome, error FROM memhub.fleet_runs")
    assert run["outcome"] == "failed"
    assert "permission denied for" in run["error"]
