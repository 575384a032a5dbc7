"""The nudge after the commit: procrastinate's own channel and payload, coalesced, and nothing lost without it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
from procrastinate.manager import get_channel_for_queues

from shared.errors import BackendUnavailable
from shared.outbox import EMBED_QUEUE, Waker

CHANNEL = "procrastinate_queue_v1#embed"


class Lending:
    """Lends one connection and notes when."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self.at_s: list[float] = []
        self.first = asyncio.Event()
        self._connection = connection

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[asyncpg.Connection]:
        self.at_s.append(asyncio.get_running_loop().time())
        yield self._connection
        self.first.set()


def test_the_channel_is_the_one_that_a_worker_listens_to() -> None:
    assert list(get_channel_for_queues([EMBED_QUEUE])) == [CHANNEL]


async def test_a_wake_reaches_a_listener_in_the_form_that_procrastinate_reads(
    connection: asyncpg.Connection, server_connection: asyncpg.Connection
) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()
    await connection.add_listener(CHANNEL, lambda _c, _pid, _channel, payload: heard.put_nowait(payload))
    waker = Waker(Lending(server_connection))
    waker.wake()

    assert await asyncio.wait_for(heard.get(), 10) == '{"type": "job_inserted", "job_id": 0}'
    await waker.aclose()


async def test_wakes_are_coalesced(server_connection: asyncpg.Connection) -> None:
    # Fails when `wake` sends by itself: each notification takes PostgreSQL's one lock of notifiers.
    lending = Lending(server_connection)
    waker = Waker(lending, interval_s=0.2)
    for _ in range(50):
        waker.wake()
        waker.wake("counters")
    await waker.aclose()

    assert len(lending.at_s) == 1


async def test_wakes_within_the_interval_are_sent_once_at_its_end(server_connection: asyncpg.Connection) -> None:
    lending = Lending(server_connection)
    waker = Waker(lending, interval_s=0.2)
    # Fails without the sleep in `_wake`.
    waker.wake()
    await asyncio.wait_for(lending.first.wait(), 10)
    waker.wake()
    waker.wake()
    await waker.aclose()

    assert len(lending.at_s) == 2
    assert lending.at_s[1] - lending.at_s[0] >= 0.2


async def test_a_database_that_is_away_breaks_nothing() -> None:
    @asynccontextmanager
    async def away() -> AsyncIterator[asyncpg.Connection]:
        raise BackendUnavailable("Away.", next="Wait.")
        yield

    waker = Waker(away, interval_s=0)
    waker.wake()
    await waker.aclose()
