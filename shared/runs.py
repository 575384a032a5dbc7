"""What a run of upkeep leaves behind: a row with its numbers or its error."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import asyncpg
import orjson

from shared import statements
from shared.database import Database
from shared.errors import MemhubError

ERROR_CHARS_MAX = 240

_SQL = statements.load("fleet")
_NOW = _SQL["now"]
_RECORD_RUN = _SQL["record_run"]

Details = dict[str, int]


@asynccontextmanager
async def recorded(
    database: Database, actor: str, *, unrecorded: tuple[type[Exception], ...] = ()
) -> AsyncIterator[Details]:
    """A row in memhub.fleet_runs with the numbers put into the details; an error is recorded and passes on.

    What is `unrecorded` passes on and leaves no row.
    """
    details: Details = {}
    async with database.connection("write") as connection:
        started_at = await connection.fetchval(_NOW)
    try:
        yield details
    except unrecorded:
        raise
    except Exception as failed:
        # The database that failed the run may be the one that should record it.
        with suppress(MemhubError):
            await _record(database, actor, started_at, details, error=reason(failed))
        raise
    await _record(database, actor, started_at, details, error=None)


def reason(failed: BaseException) -> str:
    """Code and message of an error of ours, else its type: another's text may quote a memory."""
    if isinstance(failed, MemhubError):
        return f"{failed.code}: {failed.message}"[:ERROR_CHARS_MAX]
    if isinstance(failed, asyncpg.PostgresError):
        return f"{type(failed).__name__} ({failed.sqlstate})"
    return type(failed).__name__


async def _record(database: Database, actor: str, started_at: object, details: Details, *, error: str | None) -> None:
    outcome = "ok" if error is None else "failed"
    async with database.connection("write") as connection:
        await connection.execute(_RECORD_RUN, actor, started_at, outcome, orjson.dumps(details).decode(), error)
