"""The services on PostgreSQL behind the seam of the tools; imported only when a database is to be opened."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any
from uuid import UUID

from server.backend import Backend, Health, Load, Pool, Work
from shared import feed, migrations, projects, statements, status
from shared.database import Database
from shared.domain import Author, Memory, ProjectScope
from shared.memories import rows
from shared.memories.forget import forget, restore
from shared.memories.history import history
from shared.memories.remember import remember
from shared.memories.revise import revise
from shared.opening import opened
from shared.retrieval.search import search
from shared.settings import Settings

_FLEET_IS_ALIVE = statements.load("health")["fleet_is_alive"]


async def open_backend(settings: Settings) -> Backend:
    """The opened database of the settings. Raises BackendUnavailable, ConfigurationError and SchemaMismatch."""
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(opened(settings, application="memhub-server"))
        return Postgres(database, stack.pop_all())


class Postgres:
    """An opened database and its services."""

    def __init__(self, database: Database, held: AsyncExitStack) -> None:
        self._database = database
        self._held = held
        self.projects = projects
        self.memories = _Memories()
        self.feed = feed

    def connection(self, work: Work) -> AbstractAsyncContextManager[Any]:
        return self._database.connection(work)

    async def health(self) -> Health:
        async with self._database.connection("read") as connection:
            await migrations.verify(connection)
            return Health(fleet="alive" if await connection.fetchval(_FLEET_IS_ALIVE) else "absent")

    async def load(self) -> Load:
        async with self._database.connection("read") as connection:
            queues = await status.queues(connection)
        pools = tuple(Pool(use.work, use.in_use, use.idle, use.connections_max) for use in self._database.use())
        return Load(pools=pools, queues=queues)

    async def aclose(self) -> None:
        await self._held.aclose()


class _Memories:
    """The services by the names that the tools know."""

    remember = staticmethod(remember)
    revise = staticmethod(revise)
    forget = staticmethod(forget)
    restore = staticmethod(restore)
    search = staticmethod(search)
    history = staticmethod(history)

    @staticmethod
    async def read(connection: Any, scope: ProjectScope, author: Author, memory_id: UUID) -> Memory:
        return (await rows.read(connection, scope, author, memory_id)).memory
