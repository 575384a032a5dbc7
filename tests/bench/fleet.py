"""What the fleet makes of its model: a backlog drained, and a write found by its meaning, against the bare model."""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import asyncpg

from shared.domain import MemoryType, ProjectScope
from shared.embedding.models import PACKAGED_MODEL
from shared.memories.remember import remember
from shared.memories.requests import Remember
from shared.outbox import Waker
from shared.retrieval.meaning import Meaning
from shared.retrieval.terms import ask
from tests.bench import places
from tests.bench.bare import THREADS, Bare
from tests.bench.meanings import REAL, real_texts
from tests.bench.options import Options
from tests.bench.places import AUTHOR
from tests.bench.recall import nearest
from tests.bench.report import Figure
from tests.workers.processes import worker
from tests.workers.waiting import until
from workers.embedding.embedder import Purpose
from workers.embedding.inference import Inference
from workers.embedding.local import load
from workers.embedding.texts import RevisionText, embedded_texts

BACKLOG = 5_000
BACKLOG_QUICK = 50
WRITES = 40
WRITES_QUICK = 3
TURNS = 25
TEXTS_OF_A_TURN = 40
TEXTS_OF_A_TURN_QUICK = 16
LOOK_S = 0.002
LOOKS_MAX = 5_000
DRAIN_S_MAX = 500.0
IDLE = "SELECT NOT EXISTS (SELECT FROM public.procrastinate_jobs WHERE status IN ('todo', 'doing'))"
DRAINED = "SELECT NOT EXISTS (SELECT FROM memhub.embedding_work)"
HOP_MS = 10.0


async def figures(options: Options) -> list[Figure]:
    """Of one text at a time and of batches; a backlog is `backlog`."""
    bare = Bare()
    return [await _throughput(bare, options), await _found(bare, options)]


async def backlog(options: Options) -> list[Figure]:
    texts = _texts(options, options.count(BACKLOG, BACKLOG_QUICK))
    with tempfile.TemporaryDirectory(prefix="mh-", dir="/tmp") as folder:
        async with places.database() as url, places.session(url, "write") as connection:
            await _write_all(connection, texts)
            began = time.perf_counter()
            with _worker(url, Path(folder), "--queues", "embed", "--no-endpoint"):
                await until(connection, DRAINED, within_s=DRAIN_S_MAX)
                drained_s = time.perf_counter() - began
    bare, read = Bare(), _as_read(texts)
    began = time.perf_counter()
    bare.embed(read)
    return [
        Figure(f"draining {len(texts):,} new memories", drained_s, time.perf_counter() - began, "s",
               "embedding them in bare batches", aim=1.5)
    ]  # fmt: skip


async def _throughput(bare: Bare, options: Options) -> Figure:
    """In turns, so that a slow minute of the machine falls on both."""
    count = options.count(TEXTS_OF_A_TURN, TEXTS_OF_A_TURN_QUICK)
    texts = _texts(options, count)
    inference = Inference(load(None, cache=Path("/nonexistent"), threads=THREADS))
    ours, floor = [], []
    for _ in range(options.count(TURNS, 1)):
        began = time.perf_counter()
        await inference.embed(texts, purpose=Purpose.DOCUMENT)
        between = time.perf_counter()
        await asyncio.to_thread(bare.embed, texts)
        ours.append(count / (between - began))
        floor.append(count / (time.perf_counter() - between))
    await inference.close()
    return Figure("embedding, one thread", statistics.median(ours), statistics.median(floor), "texts/s",
                  "bare onnxruntime, one thread", aim=0.8, at_least=True)  # fmt: skip


async def _found(bare: Bare, options: Options) -> Figure:
    texts = _texts(options, options.count(WRITES, WRITES_QUICK) + 3)
    found: list[float] = []
    floor: list[float] = []
    with tempfile.TemporaryDirectory(prefix="mh-", dir="/tmp") as folder:
        async with _looking(Path(folder)) as looking:
            for text, read in zip(texts, _as_read(texts), strict=True):
                began = time.perf_counter()
                bare.embed([read])
                floor.append((time.perf_counter() - began) * 1_000 + HOP_MS)
                found.append(await looking.found_ms(text, Meaning(vector=tuple(bare.embed([text])[0].tolist()))))
    return Figure("a write found by its meaning, p50", statistics.median(found[3:]), statistics.median(floor[3:]),
                  "ms", f"its bare embedding + {HOP_MS:g} ms", aim=3)  # fmt: skip


class _Looking:
    """An idle fleet, a writer that wakes it, and a reader that looks until the memory is there."""

    def __init__(
        self, writer: asyncpg.Connection, reader: asyncpg.Connection, waker: Waker, scope: ProjectScope
    ) -> None:
        self._writer = writer
        self._reader = reader
        self._waker = waker
        self._scope = scope

    async def found_ms(self, text: str, meaning: Meaning) -> float:
        await until(self._reader, IDLE)
        began = time.perf_counter()
        written = (await remember(self._writer, self._scope, AUTHOR, Remember(content=text))).memory
        assert written is not None
        self._waker.wake()
        await self._until_near(written.memory_id, meaning)
        return (time.perf_counter() - began) * 1_000

    async def _until_near(self, memory_id: UUID, meaning: Meaning) -> None:
        asked = await ask(self._reader, self._scope, AUTHOR, "", model=PACKAGED_MODEL)
        for _ in range(LOOKS_MAX):
            if memory_id in await nearest(self._reader, self._scope, asked, meaning):
                return
            await asyncio.sleep(LOOK_S)
        raise AssertionError(f"not found by its meaning in {LOOKS_MAX} looks")


@asynccontextmanager
async def _looking(folder: Path) -> AsyncIterator[_Looking]:
    async with (
        places.database() as url,
        places.session(url, "write") as writer,
        places.session(url, "read") as reader,
        places.session(url, "read") as spare,
    ):
        scope = await places.project(writer)

        @asynccontextmanager
        async def lend() -> AsyncIterator[asyncpg.Connection]:
            yield spare

        waker = Waker(lend)
        with _worker(url, folder):
            await until(reader, "SELECT EXISTS (SELECT FROM public.procrastinate_workers)")
            yield _Looking(writer, reader, waker, scope)
        await waker.aclose()


@contextmanager
def _worker(url: str, folder: Path, *arguments: str) -> Iterator[None]:
    """A worker as a deployment starts it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMHUB_")}
    with worker(*arguments, environment=kept | {"MEMHUB_DATABASE_URL": url, "MEMHUB_DATA_DIR": str(folder)}):
        yield


async def _write_all(connection: asyncpg.Connection, texts: Sequence[str]) -> None:
    await connection.execute("SET synchronous_commit = off")
    scope = await places.project(connection)
    for text in texts:
        await remember(connection, scope, AUTHOR, Remember(content=text))


def _texts(options: Options, count: int) -> list[str]:
    return real_texts(options.count(REAL, count))[:count]


def _as_read(texts: Sequence[str]) -> list[str]:
    """What the fleet gives the model: each text behind its header, in pieces where it is long."""
    embedder = load(None, cache=Path("/nonexistent"), threads=THREADS)
    written_on = datetime.now(UTC).date()
    return [
        piece
        for text in texts
        for piece in embedded_texts(
            RevisionText(content=text, type=MemoryType.FACT, category=None, tags=(), written_on=written_on),
            embedder=embedder,
        )
    ]
