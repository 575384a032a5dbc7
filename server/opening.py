"""Opens the database and binds the services to it; what they import is not imported before that."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from server.backend import Backend
from shared.errors import BackendUnavailable
from shared.settings import Settings


def of(settings: Settings) -> Callable[[], Awaitable[Backend]]:
    """One attempt to open the database of these settings, to be called as often as needed."""

    async def attempt() -> Backend:
        raise BackendUnavailable("No database is built in yet.", next=f"Log level is {settings.log_level}.")

    return attempt
