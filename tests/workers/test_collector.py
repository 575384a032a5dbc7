"""The collector: spent bookkeeping goes when its time has come, and nothing that was said ever does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from uuid import uuid4

import asyncpg
import pytest

from shared import retention
from shared.counters import CounterBuffer
from shared.database import Database
from shared.domain import Memory, ProjectScope
from shared.errors import BackendUnavailable
from shared.memories.remember import remember
from shared.memories.requests import Remember, Revise
from shared.memories.revise import revise
from shared.settings import Settings
from tests.workers.conftest import AUTHOR, Write
from workers.collector import CollectorActor
from workers.shelf import Shelf

DAYS = "now() - make_interval(days => $1::int)"


@pytest.fixture
def collecting(database: Database, settings: Settings) -> CollectorActor:
    return CollectorActor(database, settings)


async def aged_key(connection: asyncpg.Connection, scope: ProjectScope, *, days: int) -> None:
    key = str(uuid4())
    await remember(connection, scope, AUTHOR, Remember(content=key, client_request_id=key))
    await connection.execute("ALTER TABLE memhub.idempotency_keys DISABLE TRIGGER USER")
    await connection.execute(f"UPDATE memhub.idempotency_keys SET created_at = {DAYS} WHERE key = $2", days, key)
    await connection.execute("ALTER TABLE memhub.idempotency_keys ENABLE TRIGGER USER")


async def aged_job(connection: asyncpg.Connection, status: str, *, days: int, queue: str = "embed") -> int:
    job_id: int = await connection.fetchval(
        "INSERT INTO procrastinate_jobs (queue_name, task_name, status) VALUES ($1, 'x', $2) RETURNING id",
        queue,
        status,
    )
    await connection.execute("DELETE FROM procrastinate_events WHERE job_id = $1", job_id)
    await connection.execute(f"INSERT INTO procrastinate_events (job_id, at) VALUES ($2, {DAYS})", days, job_id)
    return job_id


async def test_idempotency_keys_go_after_seven_days(
    connection: asyncpg.Connection, scope: ProjectScope, collecting: CollectorActor
) -> None:
    await aged_key(connection, scope, days=8)
    await aged_key(connection, scope, days=6)
    await collecting.collect()

    assert await connection.fetchval("SELECT count(*) FROM memhub.idempotency_keys") == 1


async def test_ended_jobs_go_with_their_events_failed_ones_later_and_waiting_ones_never(
    connection: asyncpg.Connection, collecting: CollectorActor
) -> None:
    await aged_job(connection, "succeeded", days=3)
    await aged_job(connection, "failed", days=31)
    kept = [
        await aged_job(connection, "succeeded", days=1),
        await aged_job(connection, "failed", days=3),
        await aged_job(connection, "todo", days=400),
        await aged_job(connection, "doing", days=400),
        await aged_job(connection, "succeeded", days=400, queue="of another program"),
    ]
    await collecting.collect()

    assert [row["id"] for row in await connection.fetch("SELECT id FROM procrastinate_jobs ORDER BY id")] == kept
    assert await connection.fetchval("SELECT count(*) FROM procrastinate_events") == len(kept)


async def test_two_collectors_do_no_work_twice(
    connection: asyncpg.Connection, collecting: CollectorActor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "BATCH_ROWS", 7)
    for _ in range(60):
        await aged_job(connection, "succeeded", days=3)
    await asyncio.gather(collecting.collect(), collecting.collect())
    await collecting.collect()

    removed = await connection.fetchval("SELECT sum((details ->> 'ended_jobs')::int) FROM memhub.fleet_runs")
    assert removed == 60


async def test_deltas_that_no_folder_took_are_folded_not_dropped(
    connection: asyncpg.Connection, scope: ProjectScope, collecting: CollectorActor
) -> None:
    buffer = CounterBuffer()
    buffer.count(scope.project_id, [uuid4()], "search")
    await buffer.flush(connection)
    await collecting.collect()

    assert await connection.fetchval("SELECT search_hits FROM memhub.memory_counters") == 1


async def test_work_for_a_retired_model_goes_and_for_the_current_one_stays(
    connection: asyncpg.Connection, shelf: Shelf, write: Write, collecting: CollectorActor
) -> None:
    await write("Owed to the current model")
    await connection.execute(
        """WITH old AS (INSERT INTO memhub.embedding_models (name, dimension, floor, state, created_at)
                        VALUES ('old', 4, .3, 'retired', now()) RETURNING id)
           INSERT INTO memhub.embedding_work (project_id, memory_id, revision_no, model_id)
           SELECT project_id, memory_id, revision_no, old.id FROM memhub.live_memories, old"""
    )
    await collecting.collect()

    models = await connection.fetch("SELECT model_id FROM memhub.embedding_work")
    assert [row["model_id"] for row in models] == list(shelf.models)


async def test_runs_are_kept_for_a_while_and_never_more_than_a_bound_of_each_actor(
    connection: asyncpg.Connection, collecting: CollectorActor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "RUNS_KEPT_MAX", 5)
    insert = """INSERT INTO memhub.fleet_runs (actor, started_at, finished_at, outcome)
                SELECT $1, now() - $2::interval, now() - $2::interval, 'ok' FROM generate_series(1, 9)"""
    for actor, age in (("often", "0"), ("long_ago", "8 days")):
        await connection.execute(insert.replace("$2", f"'{age}'"), actor)
    await collecting.collect()

    rows = await connection.fetch("SELECT actor, count(*) FROM memhub.fleet_runs GROUP BY 1 ORDER BY 1")
    assert [tuple(row) for row in rows] == [("collect_spent", 1), ("often", 5)]


async def test_what_was_said_and_done_is_never_removed(
    connection: asyncpg.Connection, scope: ProjectScope, write: Write, collecting: CollectorActor, settings: Settings
) -> None:
    # Every table of ours but the spent bookkeeping; a new DELETE in retention.sql on any of them fails here.
    await aged_key(connection, scope, days=400)
    await write("Kept for ever")
    tables = [
        row["table_name"]
        for row in await connection.fetch(
            """SELECT table_name FROM information_schema.tables
               WHERE table_schema = 'memhub' AND table_type = 'BASE TABLE'
                   AND table_name NOT IN ('idempotency_keys', 'fleet_runs')"""
        )
    ]
    before = {table: await connection.fetchval(f"SELECT count(*) FROM memhub.{table}") for table in tables}
    await collecting.collect()

    assert {table: await connection.fetchval(f"SELECT count(*) FROM memhub.{table}") for table in tables} == before


async def test_vectors_of_a_retired_model_go_and_those_of_the_current_one_stay(
    connection: asyncpg.Connection,
    shelf: Shelf,
    write: Write,
    embed: Callable[[Memory], Awaitable[None]],
    collecting: CollectorActor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Fails without `collect_vectors` among the kinds; with a model that is not retired the trigger would keep them.
    monkeypatch.setattr(retention, "BATCH_ROWS", 2)
    for number in range(5):
        await embed(await write(f"Fact number {number}"))
    await connection.execute(
        """WITH old AS (INSERT INTO memhub.embedding_models (name, dimension, floor, state, created_at)
                        VALUES ('old', 8, .3, 'retired', now()) RETURNING id)
           INSERT INTO memhub.live_vectors (
               project_id, memory_id, revision_no, model_id, dimension, chunk_no, embedding)
           SELECT project_id, memory_id, revision_no, old.id, dimension, chunk, embedding
           FROM memhub.live_vectors, old, generate_series(0, 1) AS chunk"""
    )
    await collecting.collect()

    models = await connection.fetch("SELECT model_id, count(*) FROM memhub.live_vectors GROUP BY 1")
    assert [tuple(row) for row in models] == [(next(iter(shelf.models)), 5)]
    assert await connection.fetchval("SELECT count(*) FROM memhub.retired_vectors") == 0
    assert await connection.fetchval("SELECT details ->> 'vectors' FROM memhub.fleet_runs") == "10"


async def test_the_past_of_a_retired_model_goes_and_that_of_the_current_one_stays(
    connection: asyncpg.Connection,
    scope: ProjectScope,
    shelf: Shelf,
    write: Write,
    embed: Callable[[Memory], Awaitable[None]],
    collecting: CollectorActor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Fails without `collect_past_vectors` among the kinds.
    monkeypatch.setattr(retention, "BATCH_ROWS", 2)
    for number in range(3):
        memory = await write(f"Fact number {number}")
        await embed(memory)
        request = Revise(memory_id=memory.memory_id, expected_revision=1, content=f"Now {number}")
        await revise(connection, scope, AUTHOR, request)
    await connection.execute(
        """WITH old AS (INSERT INTO memhub.embedding_models (name, dimension, floor, state, created_at)
                        VALUES ('old', 8, .3, 'retired', now()) RETURNING id)
           INSERT INTO memhub.retired_vectors (
               project_id, memory_id, revision_no, model_id, dimension, chunk_no, embedding)
           SELECT project_id, memory_id, revision_no, old.id, dimension, chunk, embedding
           FROM memhub.retired_vectors, old, generate_series(0, 1) AS chunk"""
    )
    await collecting.collect()

    models = await connection.fetch("SELECT model_id, count(*) FROM memhub.retired_vectors GROUP BY 1")
    assert [tuple(row) for row in models] == [(next(iter(shelf.models)), 3)]
    assert await connection.fetchval("SELECT details ->> 'past_vectors' FROM memhub.fleet_runs") == "6"


async def test_a_kind_that_fails_keeps_no_later_one_from_its_turn(
    connection: asyncpg.Connection, scope: ProjectScope, collecting: CollectorActor
) -> None:
    # Fails without `set_aside` around each kind.
    await connection.execute("REVOKE DELETE ON memhub.idempotency_keys, memhub.embedding_work FROM memhub_server")
    await aged_job(connection, "succeeded", days=3)
    buffer = CounterBuffer()
    buffer.count(scope.project_id, [uuid4()], "search")
    await buffer.flush(connection)
    with pytest.raises(BackendUnavailable, match="idempotency_keys"):
        await collecting.collect()

    assert await connection.fetchval("SELECT count(*) FROM procrastinate_jobs WHERE status = 'succeeded'") == 0
    assert await connection.fetchval("SELECT search_hits FROM memhub.memory_counters") == 1
    run = await connection.fetchrow("SELECT outcome, error, details ->> 'folded_deltas' FROM memhub.fleet_runs")
    assert (run["outcome"], run[2]) == ("failed", "1")
