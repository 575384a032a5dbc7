"""A database for commands that look, or mend a little: it is found, never made."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager

import anyio.to_thread
import asyncpg

from shared.database import SERVER_ROLE, Database, translated
from shared.embedded import folder
from shared.errors import ConfigurationError
from shared.opening import borrow, opened, prepare
from shared.settings import Settings


@asynccontextmanager
async def looking(settings: Settings) -> AsyncIterator[asyncpg.Connection]:
    """A session of the role of servers on a database at this program's schema.

    Raises ConfigurationError where there is no embedded database yet, BackendUnavailable, SchemaMismatch.
    """
    with ExitStack() as lease:
        dsn = settings.direct_url
        if dsn is None:
            require_made(settings)
            dsn = await anyio.to_thread.run_sync(borrow, settings, lease)
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
    if settings.database_url is None:
        require_made(settings)
    async with opened(settings, application="memhub") as database:
        yield database


def require_made(settings: Settings) -> None:
    """Raises ConfigurationError where there is no embedded database yet."""
    if not folder.locate(settings.data_dir).is_made:
        raise ConfigurationError(
            f"There is no database in {settings.data_dir} yet.",
            next="Run `memhub up` to make it, or set MEMHUB_DATA_DIR or MEMHUB_DATABASE_URL to the one you mean.",
        )
