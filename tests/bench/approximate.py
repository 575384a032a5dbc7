"""From where on an approximate index pays: the leg that compares a project's vectors against one by HNSW."""

from __future__ import annotations

import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID

import asyncpg

from shared.domain import ProjectScope
from shared.embedding.models import PACKAGED_MODEL
from shared.retrieval.evidence import LEG_ROWS, gather
from shared.retrieval.meaning import Meaning
from shared.retrieval.requests import Search
from shared.retrieval.terms import Asked, ask
from tests.bench import meanings, places
from tests.bench.large import AUTHOR, project
from tests.bench.meanings import Meanings
from tests.bench.options import Options
from tests.bench.recall import NEAREST, nearest
from tests.bench.report import Figure

SIZES = (10_000, 50_000, 100_000)
SIZES_QUICK = (300,)
WIDTHS = (100, 200, 400, 800)
RECALL_MIN = 0.95
WRITES = 500
WRITES_QUICK = 10

# For one project: over all of them the index finds the neighbours of other projects first and loses its own.
_INDEX = """
CREATE INDEX live_vectors_near ON memhub.live_vectors USING hnsw ((embedding::halfvec(384)) halfvec_ip_ops)
WHERE project_id = '{project}' AND model_id = {model}
"""
_NEAR = """
SELECT near.memory_id
FROM (
    SELECT memory_id, revision_no, embedding::halfvec(384) <#> $1::text::halfvec(384) AS distance
    FROM memhub.live_vectors
    WHERE project_id = '{project}' AND model_id = {model}
    ORDER BY embedding::halfvec(384) <#> $1::text::halfvec(384)
    LIMIT $2::int
) AS near
JOIN memhub.searchable_memories AS memory
    ON memory.project_id = '{project}' AND memory.memory_id = near.memory_id AND memory.revision_no = near.revision_no
ORDER BY near.distance
"""
_WRITE = """
WITH gone AS (
    DELETE FROM memhub.live_vectors WHERE project_id = $1::uuid AND memory_id = $2::uuid
    RETURNING project_id, memory_id, revision_no, model_id, dimension, chunk_no, embedding)
INSERT INTO memhub.live_vectors (project_id, memory_id, revision_no, model_id, dimension, chunk_no, embedding)
SELECT project_id, memory_id, revision_no, model_id, dimension, 1 - chunk_no, embedding FROM gone
"""


@dataclass(frozen=True, slots=True)
class _Kept:
    """What the two ways of finding cost to keep."""

    write_ms: float
    vacuum_ms: float


async def figures(options: Options, *, sizes: tuple[int, ...] = SIZES) -> list[Figure]:
    real = meanings.embedded(options)
    told: list[Figure] = []
    async with places.database(durable=False) as url:
        for size in SIZES_QUICK if options.quick else sizes:
            told += await _of_size(url, size, real, options)
    return told


async def _of_size(url: str, size: int, real: Meanings, options: Options) -> list[Figure]:
    owner = await asyncpg.connect(url)
    try:
        scope = await project(owner, f"size-{size}", size, vectors=real.filled(size))
        await owner.execute("SET maintenance_work_mem = '1GB'; SET jit = off; SET plan_cache_mode = force_custom_plan")
        asked = await ask(owner, scope, AUTHOR, "", model=PACKAGED_MODEL)
        exact = [await nearest(owner, scope, _every(asked), meaning) for meaning in real.queries()]
        compared_ms = await _p50(real, lambda meaning: _compare(owner, scope, asked, meaning))
        bare = await _kept(owner, scope, options)
        near = _Near(owner, scope, asked)
        built_s = await near.build()
        recall = await near.widen(real, exact)
        found_ms = await _p50(real, near.find)
        indexed = await _kept(owner, scope, options)
        await owner.execute("DROP INDEX memhub.live_vectors_near")
    finally:
        await owner.close()
    name = f"{size:,} memories"
    return [
        Figure(f"nearest by HNSW, {name}, p50", found_ms, compared_ms, "ms", "the leg of a search, signs first"),
        Figure(f"its recall@{NEAREST}, ef_search {near.width}", recall, 1.0, "", "comparing every vector",
               aim=RECALL_MIN, at_least=True),
        Figure("a vector replaced, p50", indexed.write_ms, bare.write_ms, "ms", "without the index"),
        Figure(f"vacuum after {WRITES:,} replaced", indexed.vacuum_ms, bare.vacuum_ms, "ms", "without the index"),
        Figure("building the index", built_s, compared_ms / 1_000, "s", "one search by the leg"),
    ]  # fmt: skip


def _every(asked: Asked) -> Asked:
    """As of a project so small that every vector is compared."""
    return Asked(asked.terms, asked.rare, asked.common, 0, asked.model_id, asked.floor)


class _Near:
    """The nearest by an index of one project; `width` is its hnsw.ef_search."""

    def __init__(self, owner: asyncpg.Connection, scope: ProjectScope, asked: Asked) -> None:
        self._owner = owner
        self._index = _INDEX.format(project=scope.project_id, model=asked.model_id)
        self._query = _NEAR.format(project=scope.project_id, model=asked.model_id)
        self.width = WIDTHS[0]

    async def build(self) -> float:
        began = time.perf_counter()
        await self._owner.execute(self._index)
        return time.perf_counter() - began

    async def widen(self, real: Meanings, exact: list[set[UUID]]) -> float:
        """The recall at the first width that reaches RECALL_MIN, or at the last."""
        recall = 0.0
        for self.width in WIDTHS:
            await self._owner.execute(f"SET hnsw.ef_search = {self.width}")
            found = [set((await self.find(meaning))[:NEAREST]) for meaning in real.queries()]
            recall = statistics.mean(len(one & all_) / len(all_) for one, all_ in zip(found, exact, strict=True))
            if recall >= RECALL_MIN:
                break
        return recall

    async def find(self, meaning: Meaning) -> list[UUID]:
        rows = await self._owner.fetch(self._query, str(list(meaning.vector or ())), LEG_ROWS)
        return [row["memory_id"] for row in rows]


async def _compare(owner: asyncpg.Connection, scope: ProjectScope, asked: Asked, meaning: Meaning) -> None:
    await gather(owner, scope, AUTHOR, Search(query=""), asked, vector=meaning.vector)


async def _p50(real: Meanings, step: Callable[[Meaning], Awaitable[object]]) -> float:
    taken: list[float] = []
    for meaning in real.queries():
        began = time.perf_counter()
        await step(meaning)
        taken.append((time.perf_counter() - began) * 1_000)
    return statistics.median(taken)


async def _kept(owner: asyncpg.Connection, scope: ProjectScope, options: Options) -> _Kept:
    rows = await owner.fetch(
        "SELECT memory_id FROM memhub.live_memories WHERE project_id = $1 ORDER BY memory_id LIMIT $2",
        scope.project_id,
        options.count(WRITES, WRITES_QUICK),
    )
    await owner.execute("VACUUM memhub.live_vectors")
    await owner.execute("SET session_replication_role = replica")  # no copies for the past of what is replaced
    taken: list[float] = []
    for row in rows:
        began = time.perf_counter()
        await owner.execute(_WRITE, scope.project_id, row["memory_id"])
        taken.append((time.perf_counter() - began) * 1_000)
    await owner.execute("SET session_replication_role = origin")
    began = time.perf_counter()
    await owner.execute("VACUUM memhub.live_vectors")
    return _Kept(statistics.median(taken), (time.perf_counter() - began) * 1_000)
