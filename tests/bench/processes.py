"""What a stdio server costs as a process: its start, its memory, and a call beside the service that it calls."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread
import psutil

from shared.memories.remember import remember
from shared.memories.requests import Remember
from shared.retrieval.requests import Search
from shared.retrieval.search import search
from tests.bench import corpus, places
from tests.bench.options import Options
from tests.bench.places import AUTHOR
from tests.bench.report import Figure, interleaved
from tests.bench.searching import filled
from tests.server.processes import INITIALIZE, PRODUCT, Raw, running

STARTS = 15
STARTS_QUICK = 2
CALLS = 300
CALLS_QUICK = 10
MEMORIES = 1_000
MEMORIES_QUICK = 50
RSS_MB_MAX = 110.0
DOWN_S_MAX = 2.0

_BARE = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("bare")
@server.tool()
def echo(text: str) -> str:
    return text
server.run()
"""
_BARE_IS = "a bare mcp server with one tool"
_NOWHERE = "postgresql://memhub@%2Fnonexistent/memhub"

Start = Callable[[], AbstractContextManager[Raw]]


async def figures(options: Options) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="mh-", dir="/tmp") as name:
        folder = Path(name)
        async with places.database() as url:
            ours: Start = partial(running, folder, PRODUCT, MEMHUB_DATABASE_URL=url, MEMHUB_PROJECT=places.PROJECT)
            scope_memories = options.count(MEMORIES, MEMORIES_QUICK)
            await filled(url, scope_memories)
            started = _starts(ours, partial(running, folder, ("-c", _BARE)), options)
            with ours() as raw:
                await anyio.to_thread.run_sync(_list, raw)
                called = await _calls(raw, url, scope_memories, options)
                rss_mb = psutil.Process(raw.process.pid).memory_info().rss / 1_000_000
        down = partial(running, folder, PRODUCT, MEMHUB_DATABASE_URL=_NOWHERE)
        with places.undisturbed(real_time=options.real_time):
            down_s = _median_start_s(down, options.count(5, 1))
    return [
        *started,
        Figure("tools/list with the database down", down_s, DOWN_S_MAX, "s", "what is allowed", aim=1),
        Figure("memory of an idle server, database open", rss_mb, RSS_MB_MAX, "MB", "what is allowed", aim=1),
        *called,
    ]


def _starts(ours: Start, bare: Start, options: Options) -> list[Figure]:
    taken_s: dict[str, list[float]] = {"ours": [], "bare": []}
    with places.undisturbed(real_time=options.real_time):
        for _ in range(options.count(STARTS, STARTS_QUICK)):
            taken_s["bare"].append(_start_s(bare))
            taken_s["ours"].append(_start_s(ours))
    p50_s = {name: statistics.median(values) for name, values in taken_s.items()}
    return [Figure("spawn to first tools/list answer, p50", p50_s["ours"], p50_s["bare"], "s", _BARE_IS, aim=1.25)]


def _median_start_s(start: Start, rounds: int) -> float:
    return statistics.median([_start_s(start) for _ in range(rounds)])


def _start_s(start: Start) -> float:
    began = time.perf_counter()
    with start() as raw:
        _list(raw)
        return time.perf_counter() - began


def _list(raw: Raw) -> None:
    raw.send(INITIALIZE)
    raw.answer("init")
    raw.send(
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": "list", "method": "tools/list"},
    )
    assert len(raw.result("list")["tools"]) > 0


async def _calls(raw: Raw, url: str, memories: int, options: Options) -> list[Figure]:
    """Both tools through the pipes, each beside the service that it calls; the server is one more process."""
    texts = iter([text.replace("ticket", "note") for text in corpus.texts(2 * CALLS + memories)])
    queries = iter(corpus.queries(min(memories, CALLS)) * 10)
    async with places.session(url, "write") as writing, places.session(url, "read") as reading:
        scope = await places.project(writing)

        async def remember_by_tool() -> None:
            await anyio.to_thread.run_sync(partial(_call, raw, "memory_remember", content=next(texts)))

        async def remember_by_service() -> None:
            await remember(writing, scope, AUTHOR, Remember(content=next(texts)))

        async def search_by_tool() -> None:
            await anyio.to_thread.run_sync(partial(_call, raw, "memory_search", query=next(queries)))

        async def search_by_service() -> None:
            await search(reading, scope, AUTHOR, Search(query=next(queries)))

        taken = await interleaved(
            options.count(CALLS, CALLS_QUICK) // 2,
            {
                "remember, tool": remember_by_tool,
                "remember": remember_by_service,
                "search, tool": search_by_tool,
                "search": search_by_service,
            },
        )
    return [
        Figure(f"{what} through stdio, {memories:,} memories, p50", taken[f"{what}, tool"].wall_ms,
               taken[what].wall_ms, "ms", "the same at the service")
        for what in ("remember", "search")
    ]  # fmt: skip


def _call(raw: Raw, tool: str, **arguments: Any) -> None:
    raw.lines.clear()
    raw.call("call", tool, **arguments)
    result = raw.result("call")
    assert not result.get("isError"), result
