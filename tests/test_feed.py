"""The feed of changes: each event once, with the first look after its commit."""

from __future__ import annotations

from collections.abc import AsyncIterator

import asyncpg
import pytest

from server import resources
from shared import feed, projects
from shared.domain import Author, Change, Changes


@pytest.fixture
async def writers(database_url: str) -> AsyncIterator[list[asyncpg.Connection]]:
    opened = [await asyncpg.connect(database_url) for _ in range(2)]
    yield opened
    for connection in opened:
        await connection.close()


async def write(connection: asyncpg.Connection, tenant: str, *, event: str = "remembered", scope: str = "") -> None:
    await connection.execute(
        "INSERT INTO memhub.audit_events (tenant, scope_key, event, client, created_at)"
        " VALUES ($1, $2, $3, 'test', clock_timestamp())",
        tenant,
        scope,
        event,
    )


def tenants(found: Changes) -> list[str]:
    return sorted(change.tenant for change in found.changes)


async def test_what_committed_since_the_snapshot_comes_once(
    server_connection: asyncpg.Connection, connection: asyncpg.Connection
) -> None:
    await write(connection, "before")
    began = await feed.snapshot(server_connection)
    await write(connection, "after", scope="c-1")
    first = await feed.since(server_connection, began)
    assert first.changes == (Change("after", None, None, None, "c-1", "remembered"),)
    second = await feed.since(server_connection, first.snapshot)
    assert second.changes == ()
    assert not second.overflowed


async def test_a_row_that_commits_after_its_successors_is_not_lost(
    server_connection: asyncpg.Connection, writers: list[asyncpg.Connection]
) -> None:
    # Fails where the feed reads by `id > last`, or only below the oldest open transaction.
    late, early = writers
    began = await feed.snapshot(server_connection)
    transaction = late.transaction()
    await transaction.start()
    await write(late, "late")
    await write(early, "early")
    first = await feed.since(server_connection, began)
    assert tenants(first) == ["early"]
    await write(early, "later")
    await transaction.commit()
    second = await feed.since(server_connection, first.snapshot)
    assert tenants(second) == ["late", "later"]


async def test_a_transaction_that_began_before_its_elder_wrote_is_not_lost_either(
    server_connection: asyncpg.Connection, writers: list[asyncpg.Connection]
) -> None:
    """Its transaction id is the smaller one, its row's id the larger."""
    late, early = writers
    began = await feed.snapshot(server_connection)
    transaction = late.transaction()
    await transaction.start()
    await late.fetchval("SELECT pg_current_xact_id()")
    await write(early, "early")
    first = await feed.since(server_connection, began)
    await write(late, "late")
    await transaction.commit()
    assert tenants(await feed.since(server_connection, first.snapshot)) == ["late"]


async def test_what_was_rolled_back_never_comes(
    server_connection: asyncpg.Connection, connection: asyncpg.Connection
) -> None:
    began = await feed.snapshot(server_connection)
    transaction = connection.transaction()
    await transaction.start()
    await write(connection, "never")
    await transaction.rollback()
    assert (await feed.since(server_connection, began)).changes == ()


async def test_more_than_the_limit_is_told_as_an_overflow(
    server_connection: asyncpg.Connection, connection: asyncpg.Connection
) -> None:
    began = await feed.snapshot(server_connection)
    for number in range(3):
        await write(connection, f"t{number}")
    found = await feed.since(server_connection, began, limit=2)
    assert found.overflowed
    assert (await feed.since(server_connection, found.snapshot, limit=2)).changes == ()


async def test_the_feed_reads_new_events_by_their_index(
    server_connection: asyncpg.Connection, connection: asyncpg.Connection
) -> None:
    await connection.execute(
        "INSERT INTO memhub.audit_events (tenant, event, client, created_at)"
        " SELECT 't', 'remembered', 'test', clock_timestamp() FROM generate_series(1, 20000)"
    )
    await connection.execute("ANALYZE memhub.audit_events")
    began = await feed.snapshot(server_connection)
    await server_connection.execute("SET plan_cache_mode = force_custom_plan")
    plan = await server_connection.fetch(f"EXPLAIN {feed._SINCE.replace('$1', repr(began)).replace('$2', '10')}")
    assert "audit_events_by_transaction" in str(plan)


async def test_a_renaming_tells_the_slug_that_was(
    server_connection: asyncpg.Connection, connection: asyncpg.Connection
) -> None:
    # Fails without `former` in the statement `since`: who watches the brief of the old name would never hear of it.
    used = await projects.use(connection, "acme", Author("c"), project="payments", aliases={}, create=True)
    began = await feed.snapshot(server_connection)
    await projects.rename(connection, used.project, "memhub", slug="billing", display_name=None)

    (change,) = (await feed.since(server_connection, began)).changes
    assert (change.slug, change.former) == ("billing", "payments")
    assert resources.changed_by(change) == (
        "memory://projects",
        "memory://projects/billing/context",
        f"memory://projects/{used.project.project_id}/context",
        "memory://projects/payments/context",
    )
