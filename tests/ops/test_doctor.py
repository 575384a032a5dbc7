"""`memhub doctor` about the fleet: what is wrong, and the command that mends it."""

from __future__ import annotations

from typing import Any

import asyncpg
import orjson

from ops.finding import Finding
from ops.fleet_findings import findings
from shared.embedding import registry
from shared.settings import Settings
from tests.memories.clients import Client
from tests.ops import lively
from tests.ops.conftest import Installation

AWAY = Settings(database_url="postgresql://somewhere/else")
HERE = Settings()


async def found(connection: asyncpg.Connection, settings: Settings = AWAY) -> dict[str, Finding]:
    return {finding.name: finding for finding in await findings(connection, settings)}


async def employ(connection: asyncpg.Connection, *queues: str, seconds_ago: int = 1) -> None:
    await connection.execute(
        """WITH worker AS (INSERT INTO procrastinate_workers (last_heartbeat)
                           VALUES (now() - make_interval(secs => $1)) RETURNING id)
           INSERT INTO memhub.fleet_workers SELECT id, 'host', 1, $2, 4, now() FROM worker""",
        seconds_ago,
        list(queues),
    )


async def test_a_setting_that_differs_from_the_database_is_wrong_and_says_both_ways_out(
    connection: asyncpg.Connection,
) -> None:
    await registry.announce(connection, HERE)
    assert (await found(connection))["embedding model"] == Finding(
        "embedding model", True, "memhub/minilm-int8, floor 0.25"
    )
    settings = Settings(embedding_model="BAAI/bge-small-en-v1.5")
    model = (await found(connection, settings))["embedding model"]

    assert (model.well, model.detail) == (
        False,
        "the settings name BAAI/bge-small-en-v1.5, search uses memhub/minilm-int8",
    )
    assert model.mend == (
        "To move search: memhub reembed BAAI/bge-small-en-v1.5. To stay: unset MEMHUB_EMBEDDING_MODEL and _PROVIDER."
    )
    off = (await found(connection, Settings(embedding_provider="none")))["embedding model"]
    assert not off.well


async def test_a_move_that_is_under_way_is_told_and_is_not_wrong(connection: asyncpg.Connection) -> None:
    await registry.announce(connection, HERE)
    await connection.execute(
        "INSERT INTO memhub.embedding_models (name, dimension, floor, state, created_at)"
        " VALUES ('thenlper/gte-base', 1, .25, 'building', now())"
    )
    told = await found(connection)

    assert told["embedding model"].well
    assert "moving to thenlper/gte-base: `memhub reembed thenlper/gte-base`" in told["embedding model"].detail
    assert "move to thenlper/gte-base" not in told


async def test_a_move_to_a_model_that_no_worker_can_load_is_wrong(connection: asyncpg.Connection) -> None:
    await registry.announce(connection, HERE)
    await connection.execute(
        "INSERT INTO memhub.embedding_models (name, dimension, floor, state, created_at)"
        " VALUES ('no/such-model', 1, .25, 'building', now())"
    )
    move = (await found(connection))["move to no/such-model"]

    assert (move.well, move.detail) == (False, "no worker can load it: fastembed knows no model no/such-model.")
    assert move.mend.startswith("Name one that it knows, such as ")
    assert move.mend.endswith("memhub reembed --abort")


async def test_no_worker_is_wrong_with_a_database_of_ones_own_and_normal_with_the_embedded_one(
    connection: asyncpg.Connection,
) -> None:
    assert (await found(connection))["workers"].mend == "Start memhub-worker, with these settings."
    assert (await found(connection, HERE))["workers"].well

    await employ(connection, "embed", "counters", "retention", seconds_ago=60)
    assert not (await found(connection))["workers"].well


async def test_a_queue_that_nobody_serves_is_named_with_the_worker_to_start(connection: asyncpg.Connection) -> None:
    await employ(connection, "embed")
    workers = (await found(connection))["workers"]
    assert (workers.detail, workers.mend) == (
        "nobody serves counters,retention",
        "Start one: memhub-worker --queues counters,retention",
    )

    await employ(connection, "counters", "retention")
    assert (await found(connection))["workers"].well


async def test_failed_jobs_are_counted_with_a_reason_and_an_old_backlog_is_told(connection: asyncpg.Connection) -> None:
    insert = "INSERT INTO procrastinate_jobs (queue_name, task_name, status) VALUES ('embed', 'x', $1) RETURNING id"
    waiting = await connection.fetchval(insert, "todo")
    assert (await found(connection))["jobs"].detail == "1 waits, none failed"

    await connection.execute("UPDATE procrastinate_events SET at = now() - interval '1 h' WHERE job_id = $1", waiting)
    await employ(connection, "embed", "counters", "retention")
    late = (await found(connection))["jobs"]
    assert (late.well, late.detail) == (False, "1 waits, the oldest due for 60 min")

    failed = await connection.fetchval(insert, "failed")
    await connection.execute("INSERT INTO memhub.job_errors VALUES ($1, 'TimeoutError', now())", failed)
    jobs = (await found(connection))["jobs"]
    assert (jobs.well, jobs.detail) == (False, "1 failed for good, the last one: TimeoutError")
    assert "memhub jobs list" in jobs.mend


async def test_coverage_is_told_and_what_was_given_up_is_wrong(connection: asyncpg.Connection) -> None:
    await registry.announce(connection, HERE)
    speaker: Client = await lively.client(connection)
    await speaker.saved("One.")
    name = "coverage of memhub/minilm-int8"
    assert (await found(connection))[name] == Finding(name, True, "0.0% of 1 memory, 1 waits")

    await connection.execute("UPDATE memhub.embedding_work SET attempts = 5, error = 'EMBEDDING_REFUSED: no'")
    given_up = (await found(connection))[name]
    assert not given_up.well
    assert given_up.detail.endswith("1 were given up: EMBEDDING_REFUSED: no")


async def test_the_command_shows_them_and_exits_1_where_one_is_wrong(
    connection: asyncpg.Connection, database_url: str, installation: Installation
) -> None:
    url = {"MEMHUB_DATABASE_URL": database_url}
    ran = installation.run("doctor", "--json", environment=url)
    told: list[dict[str, Any]] = orjson.loads(ran.stdout)
    # The cluster of tests has no fsync.
    assert (ran.returncode, [each["name"] for each in told if not each["well"]]) == (1, ["durability", "workers"])

    await employ(connection, "embed", "counters", "retention")
    shown = installation.run("doctor", environment=url | {"MEMHUB_TENANTS": "x"})
    assert "no such setting: MEMHUB_TENANTS" in shown.stdout
    assert (shown.returncode, shown.stderr) == (1, "")
    assert "1 alive" in shown.stdout
