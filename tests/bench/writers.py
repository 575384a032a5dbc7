"""What waking the fleet costs many writers at once, after their commits and inside their transactions."""

from __future__ import annotations

import statistics
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager

import anyio
import asyncpg

from shared.domain import ProjectScope
from shared.memories.remember import remember
from shared.memories.requests import Remember
from shared.outbox import Waker
from tests.bench import places
from tests.bench.options import Options
from tests.bench.places import AUTHOR
from tests.bench.report import Figure
from tests.bench.writes import told

WRITERS = 32
WRITES_OF_EACH = 40
WRITES_OF_EACH_QUICK = 3
TURNS = 5

_TRIGGER = "ALTER TABLE public.procrastinate_jobs {} TRIGGER procrastinate_jobs_notify_queue_job_inserted_v1"
_SILENT = "the same writes without any notification"

Wake = Callable[[], None]


async def figures(options: Options) -> list[Figure]:
    """The ways in turn, so that a slow minute of the machine does not fall on one of them."""
    async with places.database() as url, _sessions(url) as sessions, places.session(url, "write") as spare:
        scope = await places.project(spare)
        rates: dict[str, list[float]] = {"silent": [], "waking": [], "notifying": []}
        for _ in range(options.count(TURNS, 1)):
            rates["silent"].append(await _rate(sessions, scope, options, _silent))
            async with _waking(spare) as wake:
                rates["waking"].append(await _rate(sessions, scope, options, wake))
            async with _notifying(url):
                rates["notifying"].append(await _rate(sessions, scope, options, _silent))
    p50 = {name: statistics.median(taken) for name, taken in rates.items()}
    return [
        Figure(f"{WRITERS} writers, fleet woken after commits", p50["waking"], p50["silent"], "writes/s", _SILENT,
               aim=0.8, at_least=True),
        Figure(f"{WRITERS} writers, notifying inside", p50["notifying"], p50["silent"], "writes/s", _SILENT),
    ]  # fmt: skip


async def _rate(sessions: list[asyncpg.Connection], scope: ProjectScope, options: Options, wake: Wake) -> float:
    writes = options.count(WRITES_OF_EACH, WRITES_OF_EACH_QUICK)
    sentences = told()
    began = time.perf_counter()
    async with anyio.create_task_group() as writers:
        for session in sessions:
            writers.start_soon(_write, session, scope, sentences, writes, wake)
    return WRITERS * writes / (time.perf_counter() - began)


async def _write(
    session: asyncpg.Connection, scope: ProjectScope, sentences: Iterator[str], writes: int, wake: Wake
) -> None:
    for _ in range(writes):
        await remember(session, scope, AUTHOR, Remember(content=next(sentences)))
        wake()


def _silent() -> None:
    """No notification."""


@asynccontextmanager
async def _waking(connection: asyncpg.Connection) -> AsyncIterator[Wake]:
    @asynccontextmanager
    async def lend() -> AsyncIterator[asyncpg.Connection]:
        yield connection

    waker = Waker(lend)
    try:
        yield waker.wake
    finally:
        await waker.aclose()


@asynccontextmanager
async def _notifying(url: str) -> AsyncIterator[None]:
    """Procrastinate's own trigger, as it is before our migration switches it off."""
    owner = await asyncpg.connect(url)
    try:
        await owner.execute(_TRIGGER.format("ENABLE"))
        yield
    finally:
        await owner.execute(_TRIGGER.format("DISABLE"))
        await owner.close()


@asynccontextmanager
async def _sessions(url: str) -> AsyncIterator[list[asyncpg.Connection]]:
    sessions = [await places.connect(url, "write") for _ in range(WRITERS)]
    try:
        yield sessions
    finally:
        for session in sessions:
            await session.close()
