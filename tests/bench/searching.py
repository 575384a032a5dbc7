"""What a search costs at the service, against its own statements as the database itself times them."""

from __future__ import annotations

import itertools
import statistics
import time
from dataclasses import dataclass
from typing import Any

import asyncpg
import orjson

from shared.domain import ProjectScope
from shared.memories.remember import remember
from shared.memories.requests import Remember
from shared.retrieval.meaning import UNKNOWN, Meaning
from shared.retrieval.requests import Search
from shared.retrieval.search import search
from tests.bench import corpus, places
from tests.bench.options import Options
from tests.bench.places import AUTHOR
from tests.bench.report import Figure

MEMORIES = 10_000
MEMORIES_QUICK = 200
QUERIES = 300
QUERIES_QUICK = 10

Statements = list[tuple[str, tuple[Any, ...]]]


async def figures(options: Options) -> list[Figure]:
    memories = options.count(MEMORIES, MEMORIES_QUICK)
    queries = corpus.queries(options.count(QUERIES, QUERIES_QUICK))
    async with places.database() as url, places.session(url, "read") as connection:
        scope = await filled(url, memories)
        with places.undisturbed(connection.get_server_pid(), real_time=options.real_time):
            samples = [await taken(connection, scope, Asking(query)) for query in itertools.chain(queries[:5], queries)]
    searched_ms, selected_ms, own_ms = (statistics.median(column) for column in zip(*samples[5:], strict=True))
    return [
        Figure(f"search at {memories:,} memories, p50", searched_ms, own_ms + selected_ms, "ms",
               "its SQL by EXPLAIN ANALYZE + SELECT 1", aim=2),
        Figure("its statements in the database, p50", own_ms, selected_ms, "ms", "SELECT 1"),
    ]  # fmt: skip


async def filled(url: str, memories: int) -> ProjectScope:
    """A project of that many memories, written by the service and analysed as autovacuum would."""
    async with places.session(url, "write") as writer:
        await writer.execute("SET synchronous_commit = off")
        scope = await places.project(writer)
        for text in corpus.texts(memories):
            await remember(writer, scope, AUTHOR, Remember(content=text))
    owner = await asyncpg.connect(url)
    try:
        await owner.execute("VACUUM ANALYZE")
    finally:
        await owner.close()
    return scope


@dataclass(frozen=True, slots=True)
class Asking:
    words: str
    meaning: Meaning = UNKNOWN

    async def search(self, connection: asyncpg.Connection, scope: ProjectScope) -> None:
        await search(connection, scope, AUTHOR, Search(query=self.words), meaning=self.meaning)


async def taken(connection: asyncpg.Connection, scope: ProjectScope, asking: Asking) -> tuple[float, float, float]:
    """Milliseconds of a search, of a SELECT 1, and of the search's own statements as EXPLAIN ANALYZE tells them."""
    began = time.perf_counter()
    await asking.search(connection, scope)
    searched = time.perf_counter()
    await connection.fetchval("SELECT 1")
    selected = time.perf_counter()
    recorder = Recorder(connection)
    await asking.search(recorder, scope)
    own_ms = sum([await _timed_by_database(connection, *call) for call in recorder.calls])
    return (searched - began) * 1_000, (selected - searched) * 1_000, own_ms


async def _timed_by_database(connection: asyncpg.Connection, sql: str, arguments: tuple[Any, ...]) -> float:
    told = await connection.fetchval(f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {sql}", *arguments)
    (plan,) = orjson.loads(told)
    took_ms: float = plan["Planning Time"] + plan["Execution Time"]
    return took_ms


class Recorder:
    """A connection that notes the statements that pass through it."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection
        self.calls: Statements = []

    async def fetch(self, sql: str, *arguments: Any) -> Any:
        self.calls.append((sql, arguments))
        return await self._connection.fetch(sql, *arguments)

    async def fetchrow(self, sql: str, *arguments: Any) -> Any:
        self.calls.append((sql, arguments))
        return await self._connection.fetchrow(sql, *arguments)

    async def fetchval(self, sql: str, *arguments: Any) -> Any:
        self.calls.append((sql, arguments))
        return await self._connection.fetchval(sql, *arguments)
