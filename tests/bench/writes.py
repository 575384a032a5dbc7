"""What a write costs at the service: against the smallest transaction, and with 32 writers against no notification."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from uuid import UUID, uuid4

import anyio
import asyncpg

from shared import projects
from shared.database import SERVER_ROLE
from shared.domain import Author, ProjectScope
from shared.memories.remember import remember
from shared.memories.requests import Remember, Revise
from shared.memories.revise import revise
from tests.bench.report import Figure, interleaved

ROUNDS = 1_000
WRITERS = 32
WRITES_OF_EACH = 60
AUTHOR = Author("bench")
SENTENCE = "We keep the session in a signed cookie, number {}, because the cache may lose it at any time."


async def figures(url: str) -> list[Figure]:
    async with _session(url) as connection:
        scope = await _project(connection)
        return [*await _single(connection, scope), await _many(url, scope)]


async def _single(connection: asyncpg.Connection, scope: ProjectScope) -> list[Figure]:
    head = _Head(await _remember(connection, scope))

    async def floor() -> None:
        await connection.execute("BEGIN")
        await connection.execute("INSERT INTO public.floor (said) VALUES ($1)", SENTENCE)
        await connection.execute("COMMIT")

    async def revise_head() -> None:
        request = Revise(memory_id=head.memory_id, expected_revision=head.revision, content=SENTENCE.format(uuid4()))
        head.revision = (await revise(connection, scope, AUTHOR, request)).memory.revision

    taken = await interleaved(
        ROUNDS, {"floor": floor, "remember": lambda: _remember(connection, scope), "revise": revise_head}
    )
    floor_is = "BEGIN, one single-row INSERT, COMMIT"
    return [
        Figure("remember, p50", taken["remember"], taken["floor"], "ms", floor_is, aim=2),
        Figure("revise, p50", taken["revise"], taken["floor"], "ms", floor_is, aim=2),
    ]


async def _many(url: str, scope: ProjectScope) -> Figure:
    """Both ways in turn, twice, so that a slow minute of the machine does not fall on one of them."""
    rates: dict[bool, list[float]] = {True: [], False: []}
    for waking in (False, True, False, True):
        rates[waking].append(await _rate(url, scope, waking=waking))
    return Figure(
        f"{WRITERS} writers, waking the fleet",
        max(rates[True]),
        max(rates[False]),
        "writes/s",
        "the same writes without any notification",
        aim=0.8,
        at_least=True,
    )


async def _rate(url: str, scope: ProjectScope, *, waking: bool) -> float:
    async with anyio.create_task_group() as ready:
        sessions: list[asyncpg.Connection] = []

        async def connect() -> None:
            sessions.append(await _connect(url))

        for _ in range(WRITERS):
            ready.start_soon(connect)
    began = time.perf_counter()
    async with anyio.create_task_group() as writers:
        for session in sessions:
            writers.start_soon(_write, session, scope, _waking(sessions[0]) if waking else _silent)
    elapsed_s = time.perf_counter() - began
    for session in sessions:
        await session.close()
    return WRITERS * WRITES_OF_EACH / elapsed_s


async def _write(session: asyncpg.Connection, scope: ProjectScope, wake: Callable[[], Awaitable[None]]) -> None:
    for _ in range(WRITES_OF_EACH):
        await _remember(session, scope)
        await wake()


async def _silent() -> None:
    """No notification."""


def _waking(_session: asyncpg.Connection) -> Callable[[], Awaitable[None]]:
    return _silent


class _Head:
    def __init__(self, memory_id: UUID) -> None:
        self.memory_id = memory_id
        self.revision = 1


async def _remember(connection: asyncpg.Connection, scope: ProjectScope) -> UUID:
    remembered = await remember(connection, scope, AUTHOR, Remember(content=SENTENCE.format(uuid4())))
    assert remembered.memory is not None
    return remembered.memory.memory_id


async def _project(connection: asyncpg.Connection) -> ProjectScope:
    return (await projects.use(connection, "bench", AUTHOR, project="bench", aliases={}, create=True)).project


@asynccontextmanager
async def _session(url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await _connect(url)
    try:
        yield connection
    finally:
        await connection.close()


async def _connect(url: str) -> asyncpg.Connection:
    settings = {"plan_cache_mode": "force_generic_plan", "jit": "off"}
    connection = await asyncpg.connect(url, server_settings=settings)
    await connection.execute(f"SET ROLE {SERVER_ROLE}")
    return connection
