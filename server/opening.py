"""Opens the database and binds the services to it; what they import is not imported before that."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Awaitable, Callable

import anyio.to_thread

from server.backend import Backend
from shared import screening
from shared.errors import MemhubError
from shared.settings import Settings


def of(settings: Settings) -> Callable[[], Awaitable[Backend]]:
    """One attempt to open the database of these settings, to be called as often as needed."""

    async def attempt() -> Backend:
        postgres = await anyio.to_thread.run_sync(importlib.import_module, "server.postgres")
        backend: Backend = await postgres.open_backend(settings)
        # The first write shall not wait for what screening imports, and the first search not at all.
        threading.Thread(target=screening.warm, daemon=True).start()
        return backend

    return attempt


def is_being_made(settings: Settings) -> bool:
    """Whether the database of these settings is an embedded one that is not there yet, or hardly; blocks."""
    if settings.database_url is not None:
        return False
    from shared.embedded import folder  # noqa: PLC0415 - only a process with an embedded database pays for it

    try:
        return folder.locate(settings.data_dir).is_new
    except MemhubError:
        return False
