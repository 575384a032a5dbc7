"""`memhub migrate`: brings a database to the schema of this program."""

from __future__ import annotations

from contextlib import ExitStack

import anyio.to_thread
import asyncpg
from rich.console import Console

from shared import migrations
from shared.database import translated
from shared.opening import attach
from shared.settings import Settings


async def migrate(settings: Settings) -> int:
    """Applies what is pending and says so; 0 also when nothing was."""
    with ExitStack() as lease:
        dsn = settings.direct_url or await anyio.to_thread.run_sync(attach, settings, lease)
        with translated("read"):
            connection = await asyncpg.connect(dsn, timeout=settings.connect_timeout_s)
            try:
                applied = await migrations.migrate(connection)
            finally:
                await connection.close()
    console = Console()
    for migration in applied:
        console.print(f"applied {migration.version:04d}_{migration.name}", highlight=False)
    if not applied:
        console.print("The database is at the schema of this program.", highlight=False)
    return 0
