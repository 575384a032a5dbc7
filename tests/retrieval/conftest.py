from __future__ import annotations

from collections.abc import AsyncIterator

import asyncpg
import pytest

from shared import checker
from tests.memories.clients import client_of
from tests.retrieval.searching import MODEL, Searcher


@pytest.fixture
async def searcher(server_connection: asyncpg.Connection, connection: asyncpg.Connection) -> AsyncIterator[Searcher]:
    """A client of a project of its own, in a database with a current model of three dimensions."""
    await connection.execute(
        "INSERT INTO memhub.embedding_models (name, dimension, floor, state, created_at)"
        " VALUES ($1, 3, 0.25, 'current', clock_timestamp())",
        MODEL,
    )
    yield Searcher(await client_of(server_connection, "payments"), connection)
    assert await checker.check(connection) == []
