"""The tender: jobs of dead workers run again, up to a bound, and then say why they failed."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest

from shared.database import Database
from shared.settings import Settings
from shared.status import status
from workers import tender
from workers.tender import TenderActor


@pytest.fixture
def tending(database: Database, settings: Settings) -> TenderActor:
    return TenderActor(database, settings)


async def worker(connection: asyncpg.Connection, *, silent_s: int) -> int:
    worker_id: int = await connection.fetchval(
        "INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - make_interval(secs => $1)) RETURNING id",
        silent_s,
    )
    return worker_id


async def doing(
    connection: asyncpg.Connection, worker_id: int | None, *, attempts: int = 0, queue: str = "embed"
) -> int:
    job_id: int = await connection.fetchval(
        """INSERT INTO procrastinate_jobs (queue_name, task_name, status, worker_id, attempts)
           VALUES ($1, 'embed_revision', 'doing', $2, $3) RETURNING id""",
        queue,
        worker_id,
        attempts,
    )
    return job_id


async def state(connection: asyncpg.Connection, job_id: int) -> tuple[str, int]:
    row = await connection.fetchrow("SELECT status::text, attempts FROM procrastinate_jobs WHERE id = $1", job_id)
    return row["status"], row["attempts"]


async def test_a_job_of_a_silent_worker_runs_again_and_the_worker_is_forgotten(
    connection: asyncpg.Connection, tending: TenderActor
) -> None:
    job_id = await doing(connection, await worker(connection, silent_s=60))
    await tending.tend()

    assert await state(connection, job_id) == ("todo", 1)
    assert await connection.fetchval("SELECT count(*) FROM procrastinate_workers") == 0


async def test_a_job_whose_worker_is_gone_runs_again(connection: asyncpg.Connection, tending: TenderActor) -> None:
    job_id = await doing(connection, None)
    await tending.tend()

    assert await state(connection, job_id) == ("todo", 1)


async def test_a_job_of_a_living_worker_and_one_of_another_program_are_left(
    connection: asyncpg.Connection, tending: TenderActor
) -> None:
    living = await doing(connection, await worker(connection, silent_s=5))
    strange = await doing(connection, None, queue="of another program")
    await tending.tend()

    assert await state(connection, living) == await state(connection, strange) == ("doing", 0)


async def test_a_job_that_lost_its_worker_too_often_fails_and_says_why(
    connection: asyncpg.Connection, tending: TenderActor, settings: Settings
) -> None:
    # Fails without the bound `again` in take_up: it would kill one worker after the other.
    job_id = await doing(connection, None, attempts=settings.job_attempts_max - 1)
    await tending.tend()

    assert await state(connection, job_id) == ("failed", settings.job_attempts_max)
    shown = (await status(connection, settings)).troubled_jobs
    assert [(job.job_id, job.status, (job.error or "")[:11]) for job in shown] == [(job_id, "failed", "WORKER_DIED")]


async def test_two_tenders_take_a_job_up_once(
    connection: asyncpg.Connection, server_connection: asyncpg.Connection, tending: TenderActor, settings: Settings
) -> None:
    # Fails without FOR UPDATE SKIP LOCKED in take_up: the second waits, then raises.
    job_id = await doing(connection, None)
    transaction = server_connection.transaction()
    await transaction.start()
    await server_connection.fetch(tender._TAKE_UP, ["embed"], 30, 8, 10)
    async with asyncio.timeout(60):
        await tending.tend()
    await transaction.commit()

    assert await state(connection, job_id) == ("todo", 1)
