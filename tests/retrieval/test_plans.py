"""The plans of a search over 100,000 memories: no query of a client may read the whole project for its words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import asyncpg
import pytest

from shared.database import SERVER_ROLE
from shared.retrieval.evidence import gather
from shared.retrieval.requests import Search
from shared.retrieval.terms import NEWEST_ROWS_MAX, ask
from tests.bench.large import AUTHOR, project

MEMORIES = 100_000


@pytest.mark.timeout(180)
async def test_words_are_looked_up_and_common_ones_bounded(database_url: str) -> None:
    owner = await asyncpg.connect(database_url)
    scope = await project(owner, "large", MEMORIES)
    settings = {"plan_cache_mode": "force_custom_plan", "jit": "off"}
    connection = await asyncpg.connect(database_url, server_settings=settings)
    await connection.execute(f"SET ROLE {SERVER_ROLE}")

    async def scans(query: str, beginning: str = "WITH eligible") -> list[dict[str, Any]]:
        asked = await ask(connection, scope, AUTHOR, query, model=None)
        sent: list[Any] = []
        with connection.query_logger(sent.append):
            await gather(connection, scope, AUTHOR, Search(query=query), asked, vector=None)
            await connection.fetchval("SELECT 1")  # a log of a statement comes a turn of the loop later
        (statement,) = (one for one in sent if one.query.startswith(beginning))
        plan = await connection.fetchval(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement.query}", *statement.args)
        return [node for node in _nodes(json.loads(plan)[0]["Plan"]) if "Scan" in node["Node Type"]]

    rare = await scans("w9001 w7003 w8117")
    assert "live_memories_document" in {node.get("Index Name") for node in rare}
    assert not _sequential(rare)
    assert all(node["Actual Rows"] < 1_000 for node in rare)

    pruned = await scans("w1 w2 w9001 w3 w7003")
    assert all(node["Actual Rows"] < 1_000 for node in pruned)

    former = await scans("w9001 w7003 w8117", "WITH RECURSIVE")
    read_whole = {node["Relation Name"] for node in former if node["Node Type"] == "Seq Scan"}
    assert not read_whole & {"memories", "memory_revisions"}  # retired_vectors is empty here
    assert all(node["Actual Rows"] < 1_000 for node in former)

    common = await scans("w1 w2 w3")
    assert not _sequential(common)
    assert sum(node["Actual Rows"] for node in common if node.get("Index Name") == "live_memories_newest") <= (
        NEWEST_ROWS_MAX
    )
    await connection.close()
    await owner.close()


def _sequential(scans: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [node for node in scans if node["Node Type"] == "Seq Scan" and node.get("Relation Name") == "live_memories"]


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from _nodes(child)
