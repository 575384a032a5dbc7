"""The pools over sessions that the database ended."""

from __future__ import annotations

from pathlib import Path

import asyncpg
import psycopg
import pytest

from shared.database import Database, Work
from shared.errors import BackendUnavailable, MemhubError, UnknownOutcome
from shared.settings import Settings


@pytest.mark.parametrize(("work", "told"), [("read", BackendUnavailable), ("write", UnknownOutcome)])
async def test_the_end_of_one_session_costs_one_call_and_no_idle_session_outlives_it(
    database_url: str, tmp_path: Path, work: Work, told: type[MemhubError]
) -> None:
    # Fails without Database._give_up: the second session is still there, and would fail a call of its own had it ended.
    settings = Settings(database_url=database_url, data_dir=tmp_path)
    database = await Database.open(database_url, settings, application="tests")
    async with database.connection(work) as first, database.connection(work) as second:
        before = {await _pid(first), await _pid(second)}
    with pytest.raises(told):
        await _end(database, work, database_url)

    async with database.connection(work) as connection, database.connection(work) as other:
        assert not {await _pid(connection), await _pid(other)} & before
    await database.aclose()


async def _end(database: Database, work: Work, database_url: str) -> None:
    async with database.connection(work) as connection:
        with psycopg.connect(database_url, autocommit=True) as operator:
            operator.execute("SELECT pg_terminate_backend(%s)", [await _pid(connection)])
        await _pid(connection)


async def _pid(connection: asyncpg.Connection) -> int:
    pid: int = await connection.fetchval("SELECT pg_backend_pid()")
    return pid
