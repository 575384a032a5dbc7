"""Plans of the write path, made on empty tables: each row is found by its key, whatever the tables become later."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import asyncpg
import psycopg
import pytest

from shared import statements
from shared.database import SERVER_ROLE, SESSIONS
from tests.memories.clients import client_of
from tests.workers.waiting import until

WRITES = ("remember", "revise", "retire", "forget", "restore", "attest", "lock", "twins", "expire")
# The key columns that lead to one row, or to those of one memory; embedding_models has a row or two.
KEYS = {
    "live_memories": ({"project_id", "memory_id"}, {"project_id", "content_hash"}),
    "memories": ({"project_id", "id"},),
    "memory_revisions": ({"project_id", "memory_id"},),
    "attestations": ({"project_id", "memory_id"},),
}

_SCANNED = "SELECT sum(idx_scan) > 0 FROM pg_stat_user_indexes WHERE relname = 'memory_revisions'"
_PASSED_SCANS = "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'memory_revisions_passed'"


@pytest.fixture
def planner(database_url: str) -> Iterator[psycopg.Connection]:
    settings = " ".join(f"-c {name}={value}" for name, value in SESSIONS["write"].items())
    with psycopg.connect(database_url, options=settings) as connection:
        yield connection


@pytest.mark.parametrize("name", WRITES)
def test_a_write_finds_each_row_by_its_key(planner: psycopg.Connection, name: str) -> None:
    # Fails with the key of live_memories_content led by project_id, and without enable_seqscan=off for write sessions.
    # PostgreSQL 16 takes an array for a condition only once it knows how large the table is.
    told = ("Index Cond",) if planner.info.server_version >= 170000 else ("Index Cond", "Filter")
    for scan in _scans(_plan(planner, statements.load("memories")[name])):
        if scan["Relation Name"] in KEYS:
            condition = " ".join(scan.get(part, "") for part in told)
            assert any(all(f"{column} = " in condition for column in key) for key in KEYS[scan["Relation Name"]]), str(
                scan
            )


async def test_the_guards_of_a_write_find_each_row_by_its_key(
    database_url: str, connection: asyncpg.Connection
) -> None:
    # Fails with memory_revisions_passed led by project_id: each revise read all that had passed in its project.
    server = await asyncpg.connect(database_url, server_settings=dict(SESSIONS["write"]))
    await server.execute(f"SET ROLE {SERVER_ROLE}")
    client = await client_of(server, "guarded")
    memory_id = await client.saved("Number 1.")
    for number in (1, 2, 3):
        assert (await client.revise(memory_id, number, f"Number {number + 1}.")).outcome == "revised"
    await server.close()  # which tells its statistics

    await until(connection, _SCANNED)
    assert await connection.fetchval(_PASSED_SCANS) == 0


def test_a_page_of_the_newest_is_read_from_their_index(planner: psycopg.Connection) -> None:
    # Fails when memhub.searchable_memories does not name the status that the index asks for.
    (live,) = (
        scan
        for scan in _scans(_plan(planner, statements.load("retrieval")["newest"]))
        if scan["Relation Name"] == "live_memories"
    )

    assert live["Index Name"] == "live_memories_newest"


def test_the_newest_of_a_project_is_read_from_their_index(planner: psycopg.Connection) -> None:
    # Fails when overview.projects does not name the status that the index asks for: all live rows were read.
    read = {scan.get("Index Name") for scan in _scans(_plan(planner, statements.load("overview")["projects"]))}
    assert "live_memories_newest" in read


def _plan(planner: psycopg.Connection, sql: str) -> Any:
    told = planner.pgconn.exec_(f"EXPLAIN (GENERIC_PLAN, FORMAT JSON) {sql}".encode())
    assert told.status == psycopg.pq.ExecStatus.TUPLES_OK, told.error_message
    return json.loads(told.get_value(0, 0) or b"")[0]["Plan"]


def _scans(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if node["Node Type"].endswith("Scan") and "Relation Name" in node:
        yield node
    for child in node.get("Plans", ()):
        yield from _scans(child)
