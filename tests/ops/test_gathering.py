"""The index of words: gathered while an import writes, settled by its end or by the fleet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from ops.importing import Wish, import_
from ops.moving.gathering import gathering
from shared import retention
from shared.opening import opened
from shared.settings import Settings

_IS_GATHERED = """
SELECT 'fastupdate=on' = ANY (reloptions) FROM pg_class WHERE oid = 'memhub.live_memories_document'::regclass
"""
WAIT_S = 120
_LEFT_PAGES = "SELECT gin_clean_pending_list('memhub.live_memories_document')"


@pytest.fixture
async def operator(connection: asyncpg.Connection, database_url: str) -> AsyncIterator[asyncpg.Connection]:
    operator = await asyncpg.connect(database_url)
    await operator.execute("SET ROLE memhub_operator")
    yield operator
    await operator.close()


async def test_words_are_settled_when_the_last_import_ends(
    connection: asyncpg.Connection, operator: asyncpg.Connection, database_url: str
) -> None:
    # Fails without `_SETTLE`, and when settle_words does not look at the lock.
    other = await asyncpg.connect(database_url)
    await other.execute("SET ROLE memhub_operator")
    async with gathering(operator):
        async with gathering(other):
            assert await connection.fetchval(_IS_GATHERED)
        assert await connection.fetchval(_IS_GATHERED)

    assert not await connection.fetchval(_IS_GATHERED)
    await other.close()


async def test_the_fleet_settles_what_a_killed_import_left(
    connection: asyncpg.Connection, operator: asyncpg.Connection, settings: Settings
) -> None:
    # Fails without _SETTLE_WORDS in retention.collect.
    await operator.execute("SELECT memhub.gather_words()")
    async with opened(settings, application="test") as database:
        assert (await retention.collect(database, settings))["settled_words"] == 0
        await operator.close()
        await connection.execute("SELECT pg_advisory_lock(hashtextextended('memhub.gather_words', 0))")
        await connection.execute("SELECT pg_advisory_unlock_all()")
        assert (await retention.collect(database, settings))["settled_words"] == 1

    assert not await connection.fetchval(_IS_GATHERED)


async def test_a_large_import_leaves_nothing_to_merge(
    connection: asyncpg.Connection, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Fails without `_MERGE`.
    monkeypatch.setattr("ops.importing.GATHER_BYTES_MIN", 0)
    (tmp_path / "notes.jsonl").write_text('{"content": "The queue is PostgreSQL."}\n')
    wish = Wish(
        source=str(tmp_path / "notes.jsonl"), format=None, project="notes", dry_run=False, accept_sensitive=False
    )

    assert await import_(settings, wish) == 0
    assert await connection.fetchval(_LEFT_PAGES) == 0
    assert not await connection.fetchval(_IS_GATHERED)


async def test_nobody_waits_behind_an_import_that_wants_the_index(
    connection: asyncpg.Connection, operator: asyncpg.Connection, database_url: str
) -> None:
    # Fails without lock_timeout in gather_words and settle_words: they wait behind the reader, and others behind them.
    reader = await asyncpg.connect(database_url)
    async with reader.transaction():
        await reader.execute("LOCK TABLE memhub.live_memories IN ACCESS SHARE MODE")
        await reader.fetch("SELECT count(*) FROM memhub.live_memories WHERE document @@ 'queue'")
        async with asyncio.timeout(WAIT_S), gathering(operator):
            assert not await connection.fetchval(_IS_GATHERED)

    async with gathering(operator), reader.transaction():
        await reader.fetch("SELECT count(*) FROM memhub.live_memories WHERE document @@ 'queue'")
        async with asyncio.timeout(WAIT_S):
            assert not await connection.fetchval("SELECT memhub.settle_words()")
    assert not await connection.fetchval(_IS_GATHERED)
    await reader.close()


async def test_a_server_cannot_have_words_gathered(connection: asyncpg.Connection) -> None:
    await connection.execute("SET ROLE memhub_server")
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await connection.execute("SELECT memhub.gather_words()")
