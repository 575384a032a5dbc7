"""A database whose clock was set back: what was said stays, and is told why it cannot be changed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from uuid import UUID

import asyncpg
import pytest

from shared.database import translated
from shared.errors import BackendUnavailable
from tests.memories.clients import Client, client_of

AN_HOUR_AHEAD = """
SET session_replication_role = replica;
UPDATE memhub.memories
SET created_at = created_at + interval '1 hour', retired_at = retired_at + interval '1 hour';
UPDATE memhub.memory_revisions
SET valid_from = valid_from + interval '1 hour', valid_to = valid_to + interval '1 hour';
SET session_replication_role = origin
"""
CHANGES: dict[str, Callable[[Client, UUID], Awaitable[object]]] = {
    "revise": lambda client, memory_id: client.revise(memory_id, 1, "We deploy on Mondays."),
    "forget": lambda client, memory_id: client.forget(memory_id),
    "supersede": lambda client, memory_id: client.remember("We deploy on Mondays.", supersedes=(memory_id,)),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_a_memory_from_before_is_kept_and_the_clock_told(
    server_connection: asyncpg.Connection, connection: asyncpg.Connection, change: str
) -> None:
    # Fails without _BEFORE_THE_BEGINNING: a broken check is told as a bug of memhub.
    client = await client_of(server_connection, "payments")
    memory_id = await client.saved("We deploy on Fridays.")
    await connection.execute(AN_HOUR_AHEAD)
    with pytest.raises(BackendUnavailable, match="was set back"), translated("write"):
        await CHANGES[change](client, memory_id)

    assert await connection.fetchval("SELECT count(*) FROM memhub.memory_revisions") == 1


async def test_what_was_forgotten_before_is_kept_and_the_clock_told(
    server_connection: asyncpg.Connection, connection: asyncpg.Connection
) -> None:
    # Fails without memory_revisions_order, of the guard or of _BEFORE_THE_BEGINNING: it is told as a bug of memhub.
    client = await client_of(server_connection, "payments")
    memory_id = await client.saved("We deploy on Fridays.")
    await client.forget(memory_id)
    await connection.execute(AN_HOUR_AHEAD)
    with pytest.raises(BackendUnavailable, match="was set back"), translated("write"):
        await client.restore(memory_id)

    assert await connection.fetchval("SELECT count(*) FROM memhub.memory_revisions") == 1
