"""A backend in memory whose connections are real ones."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

from tests.server.memory import InMemory


class Asked(InMemory):
    """A database that lends one real connection, and counts how often."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        super().__init__()
        self._connection = connection

    @asynccontextmanager
    async def connection(self, work: Any) -> AsyncIterator[Any]:
        self.opened += 1
        yield self._connection
