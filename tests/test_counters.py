"""The buffer of hits in a server: what it counts, what it bounds, and what a failed flush leaves."""

from __future__ import annotations

from uuid import UUID, uuid4

import asyncpg
import pytest

from shared.counters import CounterBuffer


@pytest.fixture
async def project_id(connection: asyncpg.Connection) -> UUID:
    project_id = uuid4()
    await connection.execute(
        "INSERT INTO memhub.projects (id, tenant, slug, created_at) VALUES ($1, 'local', 'counted', clock_timestamp())",
        project_id,
    )
    return project_id


async def test_hits_of_one_memory_become_one_delta(server_connection: asyncpg.Connection, project_id: UUID) -> None:
    buffer, memory_id = CounterBuffer(), uuid4()
    for _ in range(3):
        buffer.count(project_id, [memory_id], "search")
    buffer.count(project_id, [memory_id], "context")

    assert await buffer.flush(server_connection) == 2
    rows = await server_connection.fetch("SELECT counter, hits FROM memhub.counter_deltas ORDER BY counter")
    assert [tuple(row) for row in rows] == [("context", 1), ("search", 3)]


async def test_a_second_flush_writes_nothing(server_connection: asyncpg.Connection, project_id: UUID) -> None:
    buffer = CounterBuffer()
    buffer.count(project_id, [uuid4()], "history")
    await buffer.flush(server_connection)

    assert await buffer.flush(server_connection) == 0


def test_a_full_buffer_counts_what_it_knows_and_tells_what_it_missed() -> None:
    buffer, project_id, known = CounterBuffer(entries_max=2), uuid4(), [uuid4(), uuid4()]
    buffer.count(project_id, known, "search")
    buffer.count(project_id, [*known, uuid4()], "search")

    assert (len(buffer), buffer.missed) == (2, 1)


async def test_what_was_refused_stays_within_the_bound(
    server_connection: asyncpg.Connection, project_id: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Fails where a refused flush gives everything back whatever was counted meanwhile.
    buffer, meanwhile = CounterBuffer(entries_max=2), [uuid4(), uuid4()]
    buffer.count(project_id, [uuid4()], "search")

    async def refused(*_: object) -> None:
        buffer.count(project_id, meanwhile, "search")
        raise asyncpg.ReadOnlySQLTransactionError

    monkeypatch.setattr(type(server_connection), "execute", refused)
    with pytest.raises(asyncpg.ReadOnlySQLTransactionError):
        await buffer.flush(server_connection)

    assert (len(buffer), buffer.missed) == (2, 1)


async def test_what_the_server_refused_stays_counted(server_connection: asyncpg.Connection, project_id: UUID) -> None:
    # Fails without `self._add` in `flush`.
    buffer = CounterBuffer()
    buffer.count(project_id, [uuid4()], "search")
    async with server_connection.transaction(readonly=True):
        with pytest.raises(asyncpg.ReadOnlySQLTransactionError):
            await buffer.flush(server_connection)

    assert await buffer.flush(server_connection) == 1


async def test_what_died_with_its_connection_is_not_counted_again(
    connection: asyncpg.Connection, server_connection: asyncpg.Connection, project_id: UUID
) -> None:
    buffer = CounterBuffer()
    buffer.count(project_id, [uuid4()], "search")
    await connection.execute("SELECT pg_terminate_backend($1)", server_connection.get_server_pid())
    with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)):
        await buffer.flush(server_connection)

    assert len(buffer) == 0
