"""`memhub gc`, as people run it."""

from __future__ import annotations

import json

import asyncpg

from shared.memories.remember import remember
from shared.memories.requests import Remember
from tests.memories.clients import Client
from tests.ops.conftest import Installation

NOTHING = {
    "memories": 0,
    "idempotency_keys": 0,
    "ended_jobs": 0,
    "failed_jobs": 0,
    "embedding_work": 0,
    "vectors": 0,
    "past_vectors": 0,
    "runs": 0,
    "folded_deltas": 0,
    "settled_words": 0,
}


async def _spend(connection: asyncpg.Connection, speaker: Client) -> None:
    """An expired memory, an idempotency key past its days and a job that ended long ago."""
    memory = await speaker.saved("Soon past.", ttl_days=1 / 86_400_000)
    assert await connection.fetchval("SELECT expires_at < now() FROM memhub.live_memories WHERE memory_id = $1", memory)
    request = Remember(content="Said once.", client_request_id="a-request-id")
    await remember(speaker.connection, speaker.scope, speaker.author, request)
    await connection.execute("ALTER TABLE memhub.idempotency_keys DISABLE TRIGGER USER")
    await connection.execute("UPDATE memhub.idempotency_keys SET created_at = now() - interval '8 days'")
    await connection.execute("ALTER TABLE memhub.idempotency_keys ENABLE TRIGGER USER")
    await connection.execute(
        "INSERT INTO procrastinate_jobs (queue_name, task_name, status) VALUES ('embed', 'x', 'succeeded')"
    )
    await connection.execute("DELETE FROM procrastinate_events")


async def test_gc_takes_what_is_spent_says_so_and_leaves_a_row_of_each_run(
    connection: asyncpg.Connection, speaker: Client, database_url: str, installation: Installation
) -> None:
    await _spend(connection, speaker)
    url = {"MEMHUB_DATABASE_URL": database_url}
    took = installation.run("gc", "--json", environment=url)
    assert (took.returncode, took.stderr) == (0, "")
    assert json.loads(took.stdout) == NOTHING | {"memories": 1, "idempotency_keys": 1, "ended_jobs": 1}

    again = installation.run("gc", environment=url)
    assert (again.returncode, again.stderr) == (0, "")
    assert "0 idempotency keys past" in " ".join(again.stdout.split())
    runs = await connection.fetch("SELECT actor, details ->> 'memories' AS memories FROM memhub.fleet_runs ORDER BY id")
    assert [tuple(run) for run in runs] == [
        ("reap_expired", "1"),
        ("collect_spent", None),
        ("reap_expired", "0"),
        ("collect_spent", None),
    ]


async def test_gc_acts_as_the_role_of_servers(
    connection: asyncpg.Connection, database_url: str, installation: Installation
) -> None:
    # Fails where gc acts as the owner of the URL, who may delete anything.
    await connection.execute("REVOKE DELETE ON memhub.idempotency_keys FROM memhub_server")
    ran = installation.run("gc", environment={"MEMHUB_DATABASE_URL": database_url})

    assert ran.returncode == 1
    assert "permission denied for table idempotency_keys" in ran.stderr
    assert ran.stderr.count("\n") == 1
    outcomes = await connection.fetch("SELECT actor, outcome FROM memhub.fleet_runs ORDER BY id")
    assert [tuple(row) for row in outcomes] == [("reap_expired", "ok"), ("collect_spent", "failed")]


def test_gc_without_a_database_says_so_in_one_line_and_makes_none(installation: Installation) -> None:
    data_dir = installation.home / "data"
    ran = installation.run("gc", environment={"MEMHUB_DATA_DIR": str(data_dir)})

    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith("memhub: There is no database")
    assert not data_dir.exists()


async def test_gc_collects_although_it_cannot_reap(
    connection: asyncpg.Connection, speaker: Client, database_url: str, installation: Installation
) -> None:
    # Fails without `set_aside` around `reap`.
    await _spend(connection, speaker)
    await connection.execute("REVOKE DELETE ON memhub.live_memories FROM memhub_server")
    took = installation.run("gc", environment={"MEMHUB_DATABASE_URL": database_url})

    assert took.returncode == 1
    assert "live_memories" in took.stderr
    assert await connection.fetchval("SELECT count(*) FROM memhub.idempotency_keys") == 0
