"""What a database must have before memhub touches it, and the statement that each refusal names."""

from __future__ import annotations

from collections.abc import AsyncIterator

import asyncpg
import pytest

from shared import requirements
from shared.errors import ConfigurationError


@pytest.fixture
async def empty(empty_database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(empty_database_url)
    yield connection
    await connection.close()


async def test_a_database_without_the_extension_is_told_to_create_it(empty: asyncpg.Connection) -> None:
    with pytest.raises(ConfigurationError) as refused:
        await requirements.check(empty)

    assert "CREATE EXTENSION vector;" in refused.value.next


async def test_a_database_of_ours_alone_gets_the_extension(empty: asyncpg.Connection) -> None:
    await requirements.check(empty, create_extension=True)

    await requirements.check(empty)


async def test_a_role_that_may_not_create_the_extension_is_told_the_statement(
    empty: asyncpg.Connection, outsider: str
) -> None:
    await empty.execute(f"SET ROLE {outsider}")
    with pytest.raises(ConfigurationError) as refused:
        await requirements.check(empty, create_extension=True)

    assert "CREATE EXTENSION vector;" in refused.value.next


async def test_an_old_extension_is_told_to_update(connection: asyncpg.Connection) -> None:
    await connection.execute("UPDATE pg_extension SET extversion = '0.7.4' WHERE extname = 'vector'")
    with pytest.raises(ConfigurationError, match=r"pgvector 0\.7\.4") as refused:
        await requirements.check(connection)

    assert refused.value.next == "Run in that database: ALTER EXTENSION vector UPDATE;"


@pytest.mark.parametrize("version", ["0.8", "0.8.5", "0.10.0", "1.0"])
async def test_a_later_extension_is_accepted(connection: asyncpg.Connection, version: str) -> None:
    await connection.execute("UPDATE pg_extension SET extversion = $1 WHERE extname = 'vector'", version)

    await requirements.check(connection)


async def test_an_old_server_is_refused(connection: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requirements, "POSTGRES_MAJOR_MIN", 99)
    with pytest.raises(ConfigurationError, match="memhub needs 99 or later") as refused:
        await requirements.check(connection)

    assert "MEMHUB_DATABASE_URL" in refused.value.next
