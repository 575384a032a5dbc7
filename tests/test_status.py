"""What `memhub status` is told."""

from __future__ import annotations

import asyncpg
import orjson

from shared.settings import Settings
from shared.status import status


async def test_an_idle_database_has_every_key(server_connection: asyncpg.Connection) -> None:
    shown = orjson.loads((await status(server_connection, Settings())).as_json())

    assert sorted(shown) == ["at", "last_runs", "models", "queues", "troubled_jobs", "workers"]
    assert shown["queues"] == [
        {"queue": queue, "todo": 0, "doing": 0, "failed": 0, "oldest_due_age_s": None}
        for queue in ("counters", "embed", "retention")
    ]


async def test_the_backlog_shows_its_depth_and_its_age_and_not_what_is_not_due(connection: asyncpg.Connection) -> None:
    await connection.execute(
        "INSERT INTO procrastinate_jobs (queue_name, task_name) VALUES ('embed', 'x'), ('embed', 'x')"
    )
    await connection.execute(
        """INSERT INTO procrastinate_jobs (queue_name, task_name, scheduled_at)
           VALUES ('counters', 'x', now() + interval '1 h')"""
    )
    await connection.execute("UPDATE procrastinate_events SET at = now() - interval '1 min' WHERE job_id = 1")
    counters, embed, _ = (await status(connection, Settings())).queues

    assert (embed.todo, counters.todo, counters.oldest_due_age_s) == (2, 1, None)
    assert embed.oldest_due_age_s is not None
    assert 60 <= embed.oldest_due_age_s < 120


async def test_a_silent_worker_is_not_alive(connection: asyncpg.Connection) -> None:
    await connection.execute(
        "INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now()), (now() - interval '1 min')"
    )
    workers = (await status(connection, Settings())).workers

    assert [worker.alive for worker in workers] == [True, False]


async def test_the_last_run_of_each_actor_is_shown(connection: asyncpg.Connection) -> None:
    for outcome, error in (("ok", None), ("failed", "TimeoutError")):
        await connection.execute(
            """INSERT INTO memhub.fleet_runs (actor, started_at, finished_at, outcome, error)
               VALUES ('reap_expired', now(), now(), $1, $2)""",
            outcome,
            error,
        )
    [run] = (await status(connection, Settings())).last_runs

    assert (run.actor, run.outcome, run.error) == ("reap_expired", "failed", "TimeoutError")


async def test_it_reads_only(server_connection: asyncpg.Connection) -> None:
    async with server_connection.transaction(readonly=True, isolation="repeatable_read"):
        assert (await status(server_connection, Settings())).last_runs == ()
