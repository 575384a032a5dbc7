"""How long tools took: buckets, quantiles, and what many servers add up to."""

from __future__ import annotations

import asyncpg
import pytest

from shared.timings import BUCKETS, TimingBuffer, bucket_of, latencies


@pytest.mark.parametrize(
    ("ms", "bucket"), [(0, 0), (0.2, 0), (1, 0), (1.01, 1), (2, 1), (3, 2), (4, 2), (1024, 10), (1e9, BUCKETS - 1)]
)
def test_a_time_falls_into_the_first_bucket_that_holds_it(ms: float, bucket: int) -> None:
    assert bucket_of(ms) == bucket


async def test_servers_add_to_one_histogram(server_connection: asyncpg.Connection) -> None:
    for _ in range(2):
        buffer = TimingBuffer()
        for ms in [3] * 98 + [100, 1_000]:
            buffer.note("memory_search", ms=ms, ok=ms < 1_000)
        assert await buffer.flush(server_connection) == 100
        assert await buffer.flush(server_connection) == 0
    [search] = await latencies(server_connection, hours=24)

    assert (search.tool, search.calls, search.failures) == ("memory_search", 200, 2)
    assert (search.p50_ms, search.p95_ms, search.p99_ms) == (4, 4, 128)


async def test_what_is_old_goes_with_the_next_flush(
    connection: asyncpg.Connection, server_connection: asyncpg.Connection
) -> None:
    # Fails without the DELETE in `add`.
    await connection.execute(
        """INSERT INTO memhub.tool_timings (hour, tool, bucket, calls, failures)
           SELECT date_trunc('hour', now() - interval '15 days', 'UTC'), 'memory_search', 1, 1, 0"""
    )
    buffer = TimingBuffer()
    buffer.note("memory_revise", ms=1, ok=True)
    await buffer.flush(server_connection)

    assert [row["tool"] for row in await connection.fetch("SELECT tool FROM memhub.tool_timings")] == ["memory_revise"]
