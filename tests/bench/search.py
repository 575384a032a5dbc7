"""What a search costs at the service: against its own SQL, by size of the project, and what the first pass loses."""

from __future__ import annotations

import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace

import asyncpg

from shared.database import SERVER_ROLE
from shared.domain import ProjectScope
from shared.embedding.models import PACKAGED_MODEL
from shared.retrieval.context import context
from shared.retrieval.evidence import FIRST_PASS_FROM_MEMORIES, gather
from shared.retrieval.meaning import Meaning
from shared.retrieval.requests import ContextRequest, Search
from shared.retrieval.search import search
from shared.retrieval.terms import Asked, ask
from tests.bench.large import AUTHOR, project, texts
from tests.bench.report import Figure
from tests.eval.graded import GradedSet
from tests.eval.vectors import Embeddings
from workers.embedding.embedder import Purpose

SIZES = (1_000, 10_000, 100_000)
ROUNDS = 30
QUERIES = 20
RARE, COMMON = "w9001 w7003 w8117", "w1 w2 w3"
READING = {"plan_cache_mode": "force_custom_plan", "jit": "off"}


async def figures(url: str, *, sizes: tuple[int, ...] = SIZES) -> list[Figure]:
    owner = await asyncpg.connect(url)
    graded, embeddings = GradedSet(), Embeddings()
    base = [vector.tolist() for memory in graded.memories for vector in embeddings.of_memory(memory)]
    asked = [query.text for query in graded.queries[:QUERIES]]
    meanings = [
        Meaning(vector=tuple(vector.tolist()), model=PACKAGED_MODEL)
        for vector in embeddings.of_texts(asked, Purpose.QUERY)
    ]
    embeddings.keep()
    told: list[Figure] = []
    for size in sizes:
        scope = await project(owner, f"size-{size}", size, vectors=texts(base))
        connection = await asyncpg.connect(url, server_settings=READING)
        await connection.execute(f"SET ROLE {SERVER_ROLE}")
        told += await _project(connection, scope, size, meanings)
        await connection.close()
    await owner.close()
    return told


async def _project(
    connection: asyncpg.Connection, scope: ProjectScope, size: int, meanings: list[Meaning]
) -> list[Figure]:
    name = f"{size:,} memories"
    hybrid = await _p50(lambda number: _search(connection, scope, "w40 w900 w5000", meanings[number % QUERIES]))
    sql = await _server_ms(connection, scope, meanings[0])
    rare = await _p50(lambda _: _search(connection, scope, RARE, Meaning()))
    common = await _p50(lambda _: _search(connection, scope, COMMON, Meaning()))
    request = ContextRequest(query="w40 w900 w5000")
    brief = await _p50(lambda number: context(connection, scope, AUTHOR, request, meaning=meanings[number % QUERIES]))
    return [
        Figure(f"search, {name}, p50", hybrid, sql, "ms", "its SQL in the server + SELECT 1", aim=2),
        Figure(f"common words, {name}, p50", common, rare, "ms", "rare words", aim=3),
        Figure(f"context, {name}, p50", brief, hybrid, "ms", "a search", aim=4),
        Figure(
            f"recall@10 of the first pass, {name}",
            await _recall(connection, scope, meanings),
            1.0,
            "",
            "comparing all vectors",
            aim=0.98,
            at_least=True,
        ),
    ]


async def _search(connection: asyncpg.Connection, scope: ProjectScope, query: str, meaning: Meaning) -> None:
    await search(connection, scope, AUTHOR, Search(query=query), meaning=meaning)


async def _p50(step: Callable[[int], Awaitable[object]]) -> float:
    taken: list[float] = []
    for number in range(ROUNDS + 3):
        began = time.perf_counter()
        await step(number)
        taken.append((time.perf_counter() - began) * 1_000)
    return statistics.median(taken[3:])


async def _server_ms(connection: asyncpg.Connection, scope: ProjectScope, meaning: Meaning) -> float:
    """Planning and execution as EXPLAIN ANALYZE tells them, over the statements that a search sends, and a SELECT 1."""
    sent: list[tuple[str, tuple[object, ...]]] = []

    def log(record: object) -> None:
        sent.append((record.query, tuple(record.args)))  # type: ignore[attr-defined]

    with connection.query_logger(log):
        await _search(connection, scope, "w40 w900 w5000", meaning)
        await connection.fetchval("SELECT 1")  # a log of a statement comes a turn of the loop later
    rounds = []
    for _ in range(5):
        server_ms = 0.0
        for query, arguments in sent:
            plan = await connection.fetch(f"EXPLAIN (ANALYZE, SUMMARY, TIMING OFF) {query}", *arguments)
            server_ms += sum(
                float(row[0].split()[-2]) for row in plan if row[0].startswith(("Planning T", "Execution T"))
            )
        rounds.append(server_ms)
    return statistics.median(rounds) + await _p50(lambda _: connection.fetchval("SELECT 1"))


async def _recall(connection: asyncpg.Connection, scope: ProjectScope, meanings: list[Meaning]) -> float:
    found = []
    for meaning in meanings:
        asked = await ask(connection, scope, AUTHOR, "", model=PACKAGED_MODEL)
        first = await _nearest(connection, scope, replace(asked, memories=FIRST_PASS_FROM_MEMORIES), meaning)
        exact = await _nearest(connection, scope, replace(asked, memories=0), meaning)
        found.append(len(first & exact) / len(exact))
    return statistics.mean(found)


async def _nearest(connection: asyncpg.Connection, scope: ProjectScope, asked: Asked, meaning: Meaning) -> set[object]:
    request = Search(query="")
    rows = await gather(connection, scope, AUTHOR, request, asked, vector=meaning.vector, leg_rows=10)
    return {row.memory_id for row in rows}
