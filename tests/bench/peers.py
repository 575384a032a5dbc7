"""`python -m tests.bench.peers FOLDER`: memhub and servers of its kind, which FOLDER holds, driven alike over stdio."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import psutil
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from rich.table import Table

from tests.bench import corpus
from tests.bench.report import CONSOLE
from tests.server.processes import PRODUCT, ROOT

MEMORIES = 1_000
SEARCHES = 100
STARTS = 5
RESULTS = 10
SETTLED_S_MAX = 300


@dataclass(frozen=True, slots=True)
class Peer:
    """How one server is started, told something and asked; `settled` waits for what it does behind its answers."""

    name: str
    command: tuple[str, ...]
    store: Callable[[int, str], tuple[str, dict[str, Any]]]
    search: Callable[[str], tuple[str, dict[str, Any]]]
    settings: Callable[[Path], Mapping[str, str]]
    settled: Callable[[ClientSession], Awaitable[None]] | None = None


@dataclass(slots=True)
class Measured:
    starts_s: list[float] = field(default_factory=list)
    listing_bytes: int = 0
    store_ms: list[float] = field(default_factory=list)
    search_ms: list[float] = field(default_factory=list)
    found: int = 0
    server_mb: float = 0.0
    shared_mb: float = 0.0


def peers(folder: Path) -> list[Peer]:
    return [
        Peer(
            name="memhub",
            command=(sys.executable, *PRODUCT),
            store=lambda _, text: ("memory_remember", {"content": text}),
            search=lambda query: ("memory_search", {"query": query, "limit": RESULTS}),
            settings=lambda data: {"PYTHONPATH": str(ROOT), "MEMHUB_DATA_DIR": str(data), "MEMHUB_PROJECT": "peers"},
            settled=_embedded,
        ),
        Peer(
            name="server-memory",
            command=("node", str(folder / "node_modules/@modelcontextprotocol/server-memory/dist/index.js")),
            store=lambda number, text: (
                "create_entities",
                {"entities": [{"name": f"note {number}", "entityType": "note", "observations": [text]}]},
            ),
            search=lambda query: ("search_nodes", {"query": query}),
            settings=lambda data: {"MEMORY_FILE_PATH": str(data / "memory.jsonl")},
        ),
        Peer(
            name="mcp-memory-service",
            command=(str(folder / "python/bin/memory"), "server"),
            store=lambda _, text: ("memory_store", {"content": text}),
            search=lambda query: ("memory_search", {"query": query, "limit": RESULTS}),
            settings=lambda data: {
                "MCP_MEMORY_SQLITE_PATH": str(data / "memory.db"),
                "MCP_MEMORY_BASE_DIR": str(data),
                "HF_HUB_OFFLINE": "1",
            },
        ),
    ]


async def measure(peer: Peer) -> Measured:
    with tempfile.TemporaryDirectory(prefix="mh-", dir="/tmp") as name:
        data = Path(name)
        measured = Measured()
        for _ in range(STARTS):
            began = time.perf_counter()
            async with _session(peer, data) as session:
                tools = (await session.list_tools()).model_dump(mode="json", by_alias=True, exclude_none=True)
                measured.starts_s.append(time.perf_counter() - began)
                measured.listing_bytes = len(json.dumps(tools, separators=(",", ":")).encode())
        async with _session(peer, data) as session:
            await _told_and_asked(peer, session, measured)
            measured.server_mb, measured.shared_mb = _memory_mb(data)
        return measured


async def _told_and_asked(peer: Peer, session: ClientSession, measured: Measured) -> None:
    texts = list(corpus.texts(MEMORIES))
    if peer.name == "memhub":
        await _answer(session, "project_use", {"project": "peers", "create": True})
    for number, text in enumerate(texts):
        took_ms, _ = await _answer(session, *peer.store(number, text))
        measured.store_ms.append(took_ms)
    if peer.settled is not None:
        await peer.settled(session)
    for text, query in zip(texts, corpus.queries(SEARCHES), strict=False):
        took_ms, answer = await _answer(session, *peer.search(query))
        measured.search_ms.append(took_ms)
        measured.found += text in answer


async def _answer(session: ClientSession, tool: str, arguments: dict[str, Any]) -> tuple[float, str]:
    began = time.perf_counter()
    result = await session.call_tool(tool, arguments)
    took_ms = (time.perf_counter() - began) * 1_000
    answer = "".join(getattr(block, "text", "") for block in result.content)
    if result.is_error or answer.startswith("Error"):
        raise SystemExit(f"{tool}: {answer[:500]}")
    return took_ms, answer


async def _embedded(session: ClientSession) -> None:
    for _ in range(SETTLED_S_MAX):
        _, answer = await _answer(session, "memory_search", {"query": "anything"})
        if json.loads(answer)["semantic_coverage"] == 1:
            return
        await anyio.sleep(1)
    raise SystemExit(f"memhub: not all memories had their vectors after {SETTLED_S_MAX} s")


@asynccontextmanager
async def _session(peer: Peer, data: Path) -> AsyncIterator[ClientSession]:
    """A client of a server that was just spawned on the folder; what the server logs is put aside."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("MEMHUB_")}
    server = StdioServerParameters(
        command=peer.command[0], args=list(peer.command[1:]), env={**inherited, **peer.settings(data)}, cwd=data
    )
    with (data / "log").open("a") as log:
        async with stdio_client(server, errlog=log) as (receive, send), ClientSession(receive, send) as session:
            await session.initialize()
            yield session


def _memory_mb(data: Path) -> tuple[float, float]:
    """Resident memory of the spawned server, and of what it started for all clients; shared pages count in each."""
    spawned = {child.pid for child in psutil.Process().children(recursive=True)}
    server, shared = 0.0, 0.0
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.pid in spawned:
                server += process.memory_info().rss / 1e6
            elif str(data) in " ".join([*process.cmdline(), *process.environ().values()]):
                shared += process.memory_full_info().pss / 1e6
    return server, shared


def show(taken: Mapping[str, Measured]) -> None:
    table = Table(title=f"{MEMORIES:,} memories over stdio, p50", title_justify="left", box=None, pad_edge=False)
    table.add_column("")
    for name in taken:
        table.add_column(name, justify="right")
    rows: dict[str, Callable[[Measured], str]] = {
        "spawn to tools/list": lambda each: f"{statistics.median(each.starts_s):.2f} s",
        "tools/list": lambda each: f"{each.listing_bytes:,} bytes",
        "store": lambda each: f"{statistics.median(each.store_ms):.1f} ms",
        "search": lambda each: f"{statistics.median(each.search_ms):.1f} ms",
        "four words of a text find it": lambda each: f"{each.found / SEARCHES:.0%}",
        "memory of the server": lambda each: f"{each.server_mb:.0f} MB",
        "memory shared by all clients": lambda each: f"{each.shared_mb:.0f} MB",
    }
    for what, said in rows.items():
        table.add_row(what, *(said(each) for each in taken.values()))
    CONSOLE.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.peers", description=__doc__)
    parser.add_argument("folder", type=Path, help="where `make peers` installed them")
    folder = parser.parse_args().folder.absolute()
    taken = {peer.name: anyio.run(measure, peer) for peer in peers(folder)}
    show(taken)


if __name__ == "__main__":
    main()
