"""Many backends of one database: that they are many, that they wait, and that none ran into a deadlock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import asyncpg

from shared import checker

WAIT_S = 120

# Plans are made as the pool of writers makes them. A deadlock is looked for after 20 ms and not after a second.
_SETTINGS = {"plan_cache_mode": "force_generic_plan", "jit": "off", "deadlock_timeout": "20ms"}

_Answer = TypeVar("_Answer")


@asynccontextmanager
async def backends(url: str, count: int) -> AsyncIterator[list[asyncpg.Connection]]:
    """`count` sessions of servers, each on a backend of its own; afterwards no deadlock was met and all is sound."""
    connections = [await asyncpg.connect(url, server_settings=_SETTINGS) for _ in range(count)]
    try:
        pids = {await connection.fetchval("SELECT pg_backend_pid()") for connection in connections}
        assert len(pids) == count
        for connection in connections:
            await connection.execute("SET ROLE memhub_server")
        yield connections
        assert await deadlocks(connections) == 0
        assert await _violations(url) == []
    finally:
        for connection in connections:
            connection.terminate()


async def deadlocks(connections: Iterable[asyncpg.Connection]) -> int:
    """How many the database has met so far, those of these backends included."""
    count = 0
    for connection in connections:
        await connection.execute("SELECT pg_stat_force_next_flush()")
        count = await connection.fetchval("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
    return count


async def until_blocked(observer: asyncpg.Connection, waiting: Iterable[asyncpg.Connection]) -> None:
    """Returns when each of these backends waits for a lock that another one holds."""
    pids = [connection.get_server_pid() for connection in waiting]
    async with asyncio.timeout(WAIT_S):
        while not await observer.fetchval(
            "SELECT bool_and(cardinality(pg_blocking_pids(pid)) > 0) FROM unnest($1::int[]) AS pid", pids
        ):
            pass


async def released_together(
    gate: asyncpg.Connection,
    closing: str,
    calls: list[Coroutine[Any, Any, _Answer]],
    waiting: list[asyncpg.Connection],
) -> list[_Answer]:
    """The answers of calls that all stood before the lock taken by `closing` when it was released."""
    transaction = gate.transaction()
    await transaction.start()
    await gate.execute(closing)
    tasks = [asyncio.create_task(call) for call in calls]
    await until_blocked(gate, waiting)
    await transaction.rollback()
    async with asyncio.timeout(WAIT_S):
        return await asyncio.gather(*tasks)


async def _violations(url: str) -> list[checker.Violation]:
    connection = await asyncpg.connect(url)
    found = await checker.check(connection)
    await connection.close()
    return found
