"""`memhub migrate`: brings a database to the schema of this program."""

from __future__ import annotations

from contextlib import ExitStack

from ops.reaching import reached
from ops.terminal import Terminal
from shared import migrations
from shared.database import connected
from shared.settings import Settings


async def migrate(settings: Settings) -> int:
    """Applies what is pending and says so; 0 also when nothing was."""
    with ExitStack() as lease:
        dsn = await reached(settings, lease, create=True)
        async with connected(dsn, work="read", timeout_s=settings.connect_timeout_s) as connection:
            applied = await migrations.migrate(connection)
    console = Terminal()
    for migration in applied:
        console.print(f"applied {migration.version:04d}_{migration.name}")
    if not applied:
        console.print("The database is at the schema of this program.")
    return 0
