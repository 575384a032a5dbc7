"""What a session with the official server-memory costs beside one with ours: bytes of descriptions, calls, memory.

`npm install --prefix build/peers @modelcontextprotocol/server-memory` brings it; without it the section is empty.
"""

from __future__ import annotations

import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio.to_thread
import psutil

from tests.bench import corpus, places
from tests.bench.options import Options
from tests.bench.report import CONSOLE, Figure
from tests.bench.searching import filled
from tests.server.processes import INITIALIZE, PRODUCT, ROOT, Raw, running

PEER = ROOT / "build/peers/node_modules/@modelcontextprotocol/server-memory/dist/index.js"
MEMORIES = 1_000
MEMORIES_QUICK = 20
CALLS = 100
CALLS_QUICK = 5

_PEER_IS = "the official server-memory"
# The tests' processes are Python; this one becomes the program that its arguments name.
_BECOME = "import os, sys; os.execvp(sys.argv[1], sys.argv[1:])"


@dataclass(frozen=True, slots=True)
class _Session:
    described_bytes: float
    store_ms: float
    search_ms: float
    rss_mb: float


async def figures(options: Options) -> list[Figure]:
    node = shutil.which("node")
    if node is None or not PEER.exists():
        CONSOLE.print("No server-memory to compare with: npm install --prefix build/peers", PEER.parts[-3])
        return []
    memories = options.count(MEMORIES, MEMORIES_QUICK)
    texts = list(corpus.texts(memories + options.count(CALLS, CALLS_QUICK)))
    with tempfile.TemporaryDirectory(prefix="mh-", dir="/tmp") as name:
        folder = Path(name)
        with _theirs(folder, node, texts[:memories]) as raw:
            theirs = await anyio.to_thread.run_sync(_held, raw, texts[memories:], _ENTITY, "search_nodes")
        async with places.database() as url:
            await filled(url, memories)
            with running(folder, PRODUCT, MEMHUB_DATABASE_URL=url, MEMHUB_PROJECT=places.PROJECT) as raw:
                ours = await anyio.to_thread.run_sync(_held, raw, texts[memories:], _MEMORY, "memory_search")
    return [
        Figure("descriptions of the tools", ours.described_bytes, theirs.described_bytes, "bytes", _PEER_IS),
        Figure(f"store, {memories:,} memories, p50", ours.store_ms, theirs.store_ms, "ms", _PEER_IS),
        Figure(f"search, {memories:,} memories, p50", ours.search_ms, theirs.search_ms, "ms", _PEER_IS),
        Figure("memory of the server", ours.rss_mb, theirs.rss_mb, "MB", _PEER_IS),
    ]


_Store = tuple[str, Callable[[str], dict[str, Any]]]
_MEMORY: _Store = ("memory_remember", lambda text: {"content": text})
_ENTITY: _Store = (
    "create_entities",
    lambda text: {"entities": [{"name": text[-20:], "entityType": "note", "observations": [text]}]},
)


@contextmanager
def _theirs(folder: Path, node: str, texts: list[str]) -> Iterator[Raw]:
    """Their server over a file of these texts, as it writes it."""
    file = folder / "memory.jsonl"
    entities = ({"type": "entity", **_ENTITY[1](text)["entities"][0]} for text in texts)
    file.write_text("\n".join(map(json.dumps, entities)))
    with running(folder, ("-c", _BECOME, node, str(PEER)), MEMORY_FILE_PATH=str(file)) as raw:
        yield raw


def _held(raw: Raw, texts: list[str], store: _Store, search: str) -> _Session:
    raw.send(INITIALIZE)
    raw.answer("init")
    raw.send(
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": "list", "method": "tools/list"},
    )
    described = raw.result("list")["tools"]
    tool, arguments = store
    # A word of each text, as rare as it comes: their search looks for the whole query in a text.
    words = [max(text.split(",")[0].lower().split(), key=len) for text in texts]
    stored_ms = [_taken_ms(raw, tool, arguments(text)) for text in texts]
    searched_ms = [_taken_ms(raw, search, {"query": word}) for word in words]
    return _Session(
        described_bytes=len(json.dumps(described, separators=(",", ":"))),
        store_ms=statistics.median(stored_ms),
        search_ms=statistics.median(searched_ms),
        rss_mb=psutil.Process(raw.process.pid).memory_info().rss / 1_000_000,
    )


def _taken_ms(raw: Raw, tool: str, arguments: dict[str, Any]) -> float:
    raw.lines.clear()
    began = time.perf_counter()
    raw.call("call", tool, **arguments)
    result = raw.result("call")
    assert not result.get("isError"), result
    return (time.perf_counter() - began) * 1_000
