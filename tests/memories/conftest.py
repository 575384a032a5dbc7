from __future__ import annotations

from collections.abc import AsyncIterator

import asyncpg
import pytest

from shared import checker
from tests.memories.clients import Client, client_of


@pytest.fixture
async def cursor(server_connection: asyncpg.Connection, connection: asyncpg.Connection) -> AsyncIterator[Client]:
    """A client of a project of its own; its database must be sound when the test ends."""
    yield await client_of(server_connection, "payments")
    assert await checker.check(connection) == []


@pytest.fixture
def claude(cursor: Client) -> Client:
    """Another client of the same project."""
    return cursor.speaking("claude")


@pytest.fixture
async def model(connection: asyncpg.Connection) -> int:
    """A current embedding model of three dimensions."""
    number: int = await connection.fetchval(
        "INSERT INTO memhub.embedding_models (name, dimension, floor, state, created_at)"
        " VALUES ('small', 3, 0.3, 'current', clock_timestamp()) RETURNING id"
    )
    return number
