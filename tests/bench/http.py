"""What a search through HTTP costs, against an echo through a bare SDK server and the statements of that search."""

from __future__ import annotations

import itertools
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from shared import projects
from shared.retrieval import meaning
from shared.retrieval.requests import Search
from shared.retrieval.search import search
from tests.bench import corpus, places
from tests.bench.options import Options
from tests.bench.places import AUTHOR
from tests.bench.report import Figure, Sample, interleaved
from tests.bench.searching import Recorder, Statements, filled
from tests.http.callers import client
from tests.http.processes import PRODUCT_HTTP, serving

MEMORIES = 1_000
MEMORIES_QUICK = 50
ROUNDS = 400
ROUNDS_QUICK = 10
QUERIES = 100
START_S = 30
KEY = "the-key-of-the-bench"

# As ours: sessions, plain JSON for answers, the SDK's own checks of the host.
_BARE = """
import sys
from mcp.server.mcpserver import MCPServer
server = MCPServer("bare", log_level="ERROR")
@server.tool()
def echo(text: str) -> str:
    return text
server.run("streamable-http", port=int(sys.argv[1]), json_response=True)
"""
_PROJECT = ("X-Memory-Project", places.PROJECT)
_BACKENDS = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'"
_FLOOR = "echo of a bare mcp server + the statements of the search"


async def figures(options: Options) -> list[Figure]:
    memories = options.count(MEMORIES, MEMORIES_QUICK)
    async with places.database() as url:
        await filled(url, memories)
        await _by_words_alone(url)
        taken = await _taken(url, options)
    echo_ms, sql_ms, searched_ms = (taken[step].wall_ms for step in ("echo", "sql", "search"))
    name = f"search through HTTP, {memories:,} memories, p50"
    return [
        Figure(name, searched_ms, echo_ms + sql_ms, "ms", _FLOOR, aim=1.5),
        Figure("the echo alone", echo_ms, echo_ms + sql_ms, "ms", "that floor"),
    ]


async def _by_words_alone(url: str) -> None:
    """Without a model: what it costs to embed a query is the embedder's."""
    owner = await asyncpg.connect(url)
    await owner.execute("DELETE FROM memhub.embedding_work; DELETE FROM memhub.embedding_models")
    await owner.close()


async def _taken(url: str, options: Options) -> dict[str, Sample]:
    asked = corpus.queries(QUERIES)
    settings = {"MEMHUB_DATABASE_URL": url, "MEMHUB_API_KEY": KEY, "MEMHUB_EMBEDDING_PROVIDER": "none"}
    with (
        tempfile.TemporaryDirectory(prefix="mh-", dir="/tmp") as folder,
        _bare() as bare,
        serving(Path(folder), program=PRODUCT_HTTP, **settings) as process,
    ):
        async with (
            client(process.url, "2025-11-25", tenant=places.TENANT, key=KEY, headers=[_PROJECT]) as ours,
            client(bare.url, "2025-11-25") as echoing,
            places.session(url, "read") as connection,
        ):
            statements = itertools.cycle([await _statements(connection, query) for query in asked])
            queries, texts = itertools.cycle(asked), itertools.cycle(asked)

            async def echo() -> None:
                await echoing.use("echo", text=next(texts))

            async def sql() -> None:
                for statement, arguments in next(statements):
                    await connection.fetch(statement, *arguments)

            async def searched() -> None:
                await ours.use("memory_search", query=next(queries))

            await searched()
            backends = [row["pid"] for row in await connection.fetch(_BACKENDS)]
            with places.undisturbed(process.process.pid, bare.process, *backends, real_time=options.real_time):
                rounds = options.count(ROUNDS, ROUNDS_QUICK)
                return await interleaved(rounds, {"echo": echo, "sql": sql, "search": searched})


async def _statements(connection: asyncpg.Connection, query: str) -> Statements:
    """All that the tool asks of the database for that query."""
    recorder = Recorder(connection)
    scope = await projects.resolve(recorder, places.TENANT, places.PROJECT)
    assert await meaning.current_model(recorder) is None
    await search(recorder, scope, AUTHOR, Search(query=query))
    return recorder.calls


@dataclass(frozen=True, slots=True)
class _Bare:
    process: int
    url: str


@contextmanager
def _bare() -> Iterator[_Bare]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, "-c", _BARE, str(port)], stderr=subprocess.DEVNULL)
    try:
        _wait_for(port)
        yield _Bare(process.pid, f"http://127.0.0.1:{port}")
    finally:
        process.kill()
        process.wait(START_S)


def _wait_for(port: int) -> None:
    ends_s = time.monotonic() + START_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            assert time.monotonic() < ends_s, "the bare server never listened"
            time.sleep(0.05)
        else:
            return
