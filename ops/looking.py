"""A database for commands that look, or mend a little: it is found, never made."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager

import asyncpg

from ops.reaching import reached
from shared.database import SERVER_ROLE, Database, translated
from shared.opening import opened, prepare
from shared.settings import Settings


@asynccontextmanager
async def looking(settings: Settings) -> AsyncIterator[asyncpg.Connection]:
    """A session of the role of servers on a database at this program's schema.

    Raises ConfigurationError where there is no embedded database yet, BackendUnavailable, SchemaMismatch.
    """
    with ExitStack() as lease:
        dsn = await reached(settings, lease)
        await prepare(dsn, own=settings.database_url is None)
        with translated("write"):
            connection = await asyncpg.connect(dsn, timeout=settings.connect_timeout_s)
            try:
                await connection.execute(f"SET ROLE {SERVER_ROLE}")
                yield connection
            finally:
                await connection.close()


@asynccontextmanager
async def working(settings: Settings) -> AsyncIterator[Database]:
    """The same as pools, for what takes and gives back a connection for every batch."""
    with ExitStack() as lease:
        await reached(settings, lease)
        async with opened(settings, application="memhub") as database:
            yield database
