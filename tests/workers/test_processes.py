"""Real workers: what they lose when they are killed (nothing), how they stop, and what their command line tells."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import ExitStack
from pathlib import Path

import asyncpg
import httpx2
import pytest

from shared.embedding import registry
from shared.outbox import EMBED_QUEUE, Job, encode
from shared.settings import Settings
from shared.status import status
from tests.workers.conftest import Write
from tests.workers.fake import FakeEmbedder
from tests.workers.processes import SOON_FORGOTTEN, environment, model_server, ran, stopped, worker
from tests.workers.test_embedder import WHOLE
from tests.workers.waiting import WAIT_S, until

ALL_SUCCEEDED = (
    "SELECT NOT EXISTS (SELECT FROM procrastinate_jobs WHERE status <> 'succeeded' AND task_name = 'embed_revision')"
)
IDLE = "SELECT NOT EXISTS (SELECT FROM procrastinate_jobs WHERE status IN ('todo', 'doing'))"
REGISTERED = "SELECT EXISTS (SELECT FROM procrastinate_workers)"


def test_help_names_every_option() -> None:
    shown = ran("--help", environment=dict(os.environ))

    assert shown.returncode == 0
    for option in ("--queues", "--concurrency", "--once", "--endpoint", "--no-endpoint"):
        assert option in shown.stdout


@pytest.mark.parametrize(
    "arguments", [["--queues", "embed,letters"], ["--concurrency", "0"], ["--endpoint", "8200"], ["--nonsense"]]
)
def test_bad_usage_exits_2(arguments: list[str]) -> None:
    assert ran(*arguments, environment=dict(os.environ)).returncode == 2


@pytest.mark.parametrize("place", ["192.0.2.1:8200", "a..b:8200", "nowhere.invalid:8200"])
def test_a_place_that_cannot_be_bound_is_refused_in_one_line(database_url: str, data_dir: Path, place: str) -> None:
    # Fails without `require` in _lasting: it was one line in the log, and the worker went on.
    refused = ran("--endpoint", place, environment=environment(database_url, data_dir))

    assert refused.returncode == 1
    assert refused.stderr.startswith(f"memhub-worker: --endpoint {place} cannot be bound: ")
    assert refused.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        ({"MEMHUB_EMBEDDING_FLOOR": "0"}, "MEMHUB_EMBEDDING_FLOOR"),
        ({"MEMHUB_EMBEDDING_DIM": "768"}, "MEMHUB_EMBEDDING_DIM"),
        ({"MEMHUB_EMBEDDING_MODEL": "no/such-model"}, "MEMHUB_EMBEDDING_MODEL"),
        ({"MEMHUB_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"}, "cannot be reached"),
    ],
)
def test_settings_that_cannot_work_are_refused_in_one_line(
    database_url: str, data_dir: Path, bad: dict[str, str], named: str
) -> None:
    refused = ran("--once", environment=environment(database_url, data_dir, **bad))
    told = [line for line in refused.stderr.splitlines() if not line.startswith("{")]

    assert refused.returncode == 1
    assert len(told) == 1
    assert named in told[0]


def test_a_variable_that_is_no_setting_is_named_at_start(data_dir: Path) -> None:
    away = environment("postgresql://nobody@127.0.0.1:1/none", data_dir, MEMHUB_SWEEP_EVRY_S="1")
    told = [json.loads(line) for line in ran("--once", environment=away).stderr.splitlines() if line.startswith("{")]

    assert [event["names"] for event in told if event["event"] == "settings_unknown"] == [["MEMHUB_SWEEP_EVRY_S"]]


async def test_once_drains_what_is_due_with_the_packaged_model_and_exits_0(
    connection: asyncpg.Connection, database_url: str, data_dir: Path, write: Write
) -> None:
    await write("Written before anything knew a model")
    await registry.announce(connection, Settings())
    for number in range(20):
        await write(f"The service number {number} listens on a port of its own")
    done = await asyncio.to_thread(lambda: ran("--once", environment=environment(database_url, data_dir)))

    assert done.returncode == 0, done.stderr
    assert await connection.fetchval(WHOLE)
    assert await connection.fetchval("SELECT count(*) FROM memhub.live_vectors WHERE dimension = 384") == 21
    assert await connection.fetchval("SELECT count(DISTINCT actor) FROM memhub.fleet_runs") == 7
    assert not await connection.fetchval(REGISTERED)


async def test_a_worker_killed_in_a_batch_loses_nothing(
    connection: asyncpg.Connection, database_url: str, data_dir: Path, write: Write, fake: FakeEmbedder
) -> None:
    # Fails without take_up of the tender: the job stays `doing`.
    async with model_server(fake) as provider:
        settings = environment(database_url, data_dir, **provider, **SOON_FORGOTTEN)
        await registry.register(connection, name=fake.name, dimension=fake.dimension, floor=None)
        with worker(environment=settings) as first:
            await until(connection, REGISTERED)
            fake.gate.clear()
            for number in range(40):
                await write(f"Fact number {number}")
            await until(connection, "SELECT count(*) > 0 FROM memhub.embedding_work WHERE leased_until > now()")
            first.kill()
            first.wait()
        assert await connection.fetchval("SELECT EXISTS (SELECT FROM procrastinate_jobs WHERE status = 'doing')")
        fake.gate.set()
        with worker(environment=settings):
            await until(connection, WHOLE)
            await until(connection, ALL_SUCCEEDED)

    assert await connection.fetchval("SELECT count(*) FROM memhub.live_vectors") == 40


async def test_four_workers_do_each_of_a_thousand_jobs_once(
    connection: asyncpg.Connection, database_url: str, data_dir: Path, write: Write, fake: FakeEmbedder
) -> None:
    async with model_server(fake) as provider:
        settings = environment(database_url, data_dir, **provider)
        await registry.register(connection, name=fake.name, dimension=fake.dimension, floor=None)
        for number in range(1000):
            await write(f"Fact number {number}")
        fake.texts.clear()
        with ExitStack() as workers:
            for _ in range(4):
                workers.enter_context(worker("--queues", "embed", "--no-endpoint", environment=settings))
            await until(connection, WHOLE, within_s=240)
            await until(connection, ALL_SUCCEEDED, within_s=240)
    embedded = [text for text in fake.texts if "Fact number" in text]

    assert len(embedded) == len(set(embedded)) == 1000
    jobs = await connection.fetchrow(
        "SELECT count(*), max(attempts) FROM procrastinate_jobs WHERE task_name = 'embed_revision'"
    )
    assert tuple(jobs) == (1000, 1)


async def test_a_flood_of_embeddings_leaves_room_for_upkeep(
    connection: asyncpg.Connection, database_url: str, data_dir: Path, write: Write, fake: FakeEmbedder
) -> None:
    # Fails when Orders.embeds_max of workers/manager.py is the concurrency: the held model holds every slot.
    async with model_server(fake) as provider:
        settings = environment(database_url, data_dir, **provider, MEMHUB_EMBEDDING_BATCH_ROWS="1")
        await registry.register(connection, name=fake.name, dimension=fake.dimension, floor=None)
        with worker("--concurrency", "3", environment=settings):
            await until(connection, REGISTERED)
            fake.gate.clear()
            for number in range(20):
                await write(f"Fact number {number}")
            await until(connection, "SELECT count(*) >= 2 FROM memhub.embedding_work WHERE leased_until > now()")
            held_at = await connection.fetchval("SELECT clock_timestamp()")
            for actor in ("fold_counters", "tend_jobs"):
                ran_since = "SELECT count(*) > 1 FROM memhub.fleet_runs WHERE actor = $1 AND started_at > $2"
                await until(connection, ran_since, actor, held_at)
            assert await connection.fetchval("SELECT count(*) FROM memhub.live_vectors") == 0
            fake.gate.set()
            await until(connection, WHOLE)
            await until(connection, ALL_SUCCEEDED)


async def test_a_stop_in_a_batch_is_bounded_and_loses_no_job(
    connection: asyncpg.Connection, database_url: str, data_dir: Path, write: Write, fake: FakeEmbedder
) -> None:
    # Fails without `shutdown_graceful_timeout`: the worker would wait for the held model; and without `retry` of the
    # task: the job would be aborted.
    async with model_server(fake) as provider:
        settings = environment(database_url, data_dir, **provider, **SOON_FORGOTTEN, MEMHUB_WORKER_STOP_S="0.5")
        await registry.register(connection, name=fake.name, dimension=fake.dimension, floor=None)
        # No sweep may take the row before its job does.
        with worker("--queues", "embed", environment=settings | {"MEMHUB_SWEEP_EVERY_S": "59"}) as running:
            await until(connection, REGISTERED)
            await until(connection, IDLE)
            fake.gate.clear()
            await write("Held in the model")
            await until(connection, "SELECT count(*) > 0 FROM memhub.embedding_work WHERE leased_until > now()")
            await stopped(running)
        fake.gate.set()
        job = "SELECT status::text FROM procrastinate_jobs WHERE task_name = 'embed_revision'"
        assert await connection.fetchval(job) == "todo"
        with worker(environment=settings):
            await until(connection, WHOLE)
            await until(connection, ALL_SUCCEEDED)


async def test_an_idle_worker_stops_at_once_and_with_status_0(
    connection: asyncpg.Connection, database_url: str, data_dir: Path
) -> None:
    settings = environment(database_url, data_dir, MEMHUB_EMBEDDING_PROVIDER="none")
    with worker(environment=settings) as running:
        await until(connection, REGISTERED)
        assert await stopped(running) == 0

    assert not await connection.fetchval(REGISTERED)


async def test_a_worker_whose_start_meets_the_time_limit_comes_back(
    connection: asyncpg.Connection, database_url: str, data_dir: Path
) -> None:
    # Fails without DeadlineExceeded in `_GONE` of workers/supervisor.py: the worker ended with status 1.
    blocked = "SELECT max(pid) FROM pg_locks WHERE NOT granted AND pid <> $1"
    settings = environment(database_url, data_dir, MEMHUB_EMBEDDING_PROVIDER="none", MEMHUB_STATEMENT_TIMEOUT_S="1")
    with ExitStack() as ending:
        async with connection.transaction():
            await connection.execute("LOCK TABLE public.procrastinate_jobs IN SHARE MODE")
            running = ending.enter_context(worker("--queues", "counters", environment=settings))
            await until(connection, blocked, 0)
            first = await connection.fetchval(blocked, 0) or 0
            await until(connection, blocked, first)
        await until(connection, REGISTERED)
        assert await stopped(running) == 0


async def test_a_worker_shows_its_heartbeat_and_its_process(
    connection: asyncpg.Connection, database_url: str, data_dir: Path
) -> None:
    settings = environment(database_url, data_dir, MEMHUB_EMBEDDING_PROVIDER="none")
    with worker("--queues", "counters", "--concurrency", "2", environment=settings) as running:
        await until(connection, "SELECT EXISTS (SELECT FROM memhub.fleet_workers)")
        [shown] = (await status(connection, Settings())).workers
        first = await connection.fetchval("SELECT last_heartbeat FROM procrastinate_workers")
        await until(connection, "SELECT last_heartbeat > $1 FROM procrastinate_workers", first)

    assert (shown.pid, shown.queues, shown.concurrency, shown.alive) == (running.pid, ("counters",), 2, True)


async def test_a_job_that_fails_is_retried_to_its_bound_and_then_says_why(
    connection: asyncpg.Connection, database_url: str, data_dir: Path
) -> None:
    bad = Job(
        queue=EMBED_QUEUE, task="embed_revision", arguments={"project_id": "x", "memory_id": "y", "revision_no": 1}
    )
    await connection.execute(
        """SELECT procrastinate_defer_jobs_v1(ARRAY(
               SELECT jsonb_populate_record(NULL::procrastinate_job_to_defer_v1, job)
               FROM jsonb_array_elements($1::text::jsonb) AS job))""",
        encode(bad),
    )
    settings = environment(database_url, data_dir, MEMHUB_EMBEDDING_PROVIDER="none", MEMHUB_JOB_ATTEMPTS_MAX="3")
    with worker(environment=settings):
        await until(connection, "SELECT count(*) = 1 FROM procrastinate_jobs WHERE status = 'failed'")
    [job] = (await status(connection, Settings())).troubled_jobs

    assert (job.task, job.attempts, job.error) == ("embed_revision", 3, "ValueError")


async def test_the_endpoint_serves_the_vectors_of_queries(
    connection: asyncpg.Connection, database_url: str, data_dir: Path, fake: FakeEmbedder
) -> None:
    async with model_server(fake) as provider:
        with worker("--queues", "embed", environment=environment(database_url, data_dir, **provider)):
            await until(connection, REGISTERED)
            transport = httpx2.AsyncHTTPTransport(uds=str(data_dir / "run" / "embedder.sock"))
            async with httpx2.AsyncClient(transport=transport, timeout=WAIT_S) as client:
                answer = await client.post("http://embedder/v1/embeddings", json={"model": "fake", "input": "query"})

    assert answer.status_code == 200
    assert len(answer.json()["data"][0]["embedding"]) == fake.dimension
