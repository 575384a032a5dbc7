"""The way of a command to its database: found, or made where the command says so, and left as it was."""

from __future__ import annotations

import sys
from contextlib import ExitStack

import anyio.to_thread

from ops.absences import NO_DATABASE_NEXT, no_database
from shared.embedded import folder
from shared.errors import ConfigurationError
from shared.opening import borrow
from shared.settings import Settings


async def reached(settings: Settings, lease: ExitStack, *, create: bool = False) -> str:
    """The way to PostgreSQL itself; an embedded one runs as long as `lease` is open, and stops then if this started it.

    Never a pooler's: a role that is set there would stay behind for whoever gets that connection next. An embedded
    database that is not there is made only with `create`, and that is said. Raises ConfigurationError and
    BackendUnavailable.
    """
    if settings.direct_url is not None:
        return settings.direct_url
    made = folder.locate(settings.data_dir).is_made
    if not made and not create:
        raise ConfigurationError(no_database(settings), next=NO_DATABASE_NEXT)
    dsn = await anyio.to_thread.run_sync(borrow, settings, lease)
    if not made:
        print(f"Made a new database in {settings.data_dir}.", file=sys.stderr)
    return dsn
