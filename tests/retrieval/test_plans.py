"""The plans of a search over 100,000 memories: no query of a client may read the whole project for its words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import asyncpg
import pytest

from shared.database import SERVER_ROLE
from shared.domain import ProjectScope
from shared.retrieval import evidence
from shared.retrieval.evidence import gather
from shared.retrieval.requests import Search
from shared.retrieval.terms import NEWEST_ROWS_MAX, ask
from tests.bench.large import AUTHOR, project

MEMORIES = 100_000
REPLACED = 20_000
MODEL = "small"

# The newest of the live memories have superseded another in the same words, whose vector is kept.
_REPLACED = """
WITH model AS (
    INSERT INTO memhub.embedding_models (name, dimension, floor, state, created_at)
    VALUES ($2, 3, 0.25, 'current', now())
    RETURNING id
), replaced AS MATERIALIZED (
    SELECT gen_random_uuid() AS id, memory_id AS successor, content_hash AS hash, document, created_at AS at
    FROM memhub.live_memories WHERE project_id = $1 ORDER BY created_at DESC LIMIT $3::int
), retired AS (
    INSERT INTO memhub.memories (project_id, id, status, created_at, retired_at, retired_by, superseded_by)
    SELECT $1, id, 'SUPERSEDED', at, at, 'client', successor FROM replaced
), passed AS (
    INSERT INTO memhub.memory_revisions (project_id, memory_id, revision_no, origin, content, content_hash, document,
        type, author_client, author_kind, valid_from, valid_to)
    SELECT $1, id, 1, 'import', 'as the document', hash, document, 'FACT', 'bench', 'import', at, at FROM replaced
)
INSERT INTO memhub.retired_vectors (project_id, memory_id, revision_no, model_id, dimension, chunk_no, embedding)
SELECT $1, replaced.id, 1, model.id, 3, 0, '[1, 0, 0]' FROM replaced CROSS JOIN model
"""


async def test_words_are_looked_up_and_common_ones_bounded(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = await asyncpg.connect(database_url)
    scope = await project(owner, "large", MEMORIES)
    await _replaced(owner, scope)
    settings = {"plan_cache_mode": "force_custom_plan", "jit": "off"}
    connection = await asyncpg.connect(database_url, server_settings=settings)
    await connection.execute(f"SET ROLE {SERVER_ROLE}")

    async def scans(
        query: str, beginning: str = "WITH eligible", vector: tuple[float, ...] | None = None
    ) -> list[dict[str, Any]]:
        asked = await ask(connection, scope, AUTHOR, query, model=MODEL)
        sent: list[Any] = []
        with connection.query_logger(sent.append):
            await gather(connection, scope, AUTHOR, Search(query=query), asked, vector=vector)
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

    for vector in (None, (1.0, 0.0, 0.0)):
        former = await scans("w9001 w7003 w8117", "WITH RECURSIVE", vector)
        assert {node["Relation Name"] for node in former if node["Node Type"] == "Seq Scan"} == set()
        assert all(node["Actual Rows"] < 1_000 for node in former)
        read = {node["Index Name"]: node["Actual Loops"] for node in former if "Index Name" in node}
        assert read["memories_by_successor"] > 0
        assert vector is None or read["retired_vectors_pkey"] > 0

    # Fails without the first LIMIT $10 of `formerly` in retrieval.sql: nothing else ends a step before the past does.
    monkeypatch.setattr(evidence, "FORMER_MEMORIES_MAX", 10)
    bounded = await scans("w1 w2 w3", "WITH RECURSIVE")
    (lineage,) = [node for node in bounded if node["Node Type"] == "CTE Scan" and node["CTE Name"] == "lineage"]
    assert lineage["Actual Rows"] == 10

    common = await scans("w1 w2 w3")
    assert not _sequential(common)
    assert sum(node["Actual Rows"] for node in common if node.get("Index Name") == "live_memories_newest") <= (
        NEWEST_ROWS_MAX
    )
    await connection.close()
    await owner.close()


async def _replaced(owner: asyncpg.Connection, scope: ProjectScope) -> None:
    await owner.execute("SET session_replication_role = replica")
    await owner.execute(_REPLACED, scope.project_id, MODEL, REPLACED)
    await owner.execute("SET session_replication_role = origin")
    await owner.execute("VACUUM ANALYZE")


def _sequential(scans: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [node for node in scans if node["Node Type"] == "Seq Scan" and node.get("Relation Name") == "live_memories"]


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from _nodes(child)
