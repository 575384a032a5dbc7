"""The services on PostgreSQL behind the seam of the tools; imported only when a database is to be opened."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, TypeVar
from uuid import UUID

import asyncpg
from pydantic import SecretStr

from server.backend import Backend, Health
from server.upkeep import Upkeep
from shared import feed, migrations, projects, statements, status
from shared.database import Database, Work, read_only
from shared.domain import Author, Memory, ProjectScope
from shared.embedding import registry
from shared.embedding.address import embedder_address
from shared.embedding.client import QueryEmbedder
from shared.embedding.models import EmbeddingModel
from shared.errors import BackendUnavailable
from shared.memories import rows
from shared.memories.conflicts import Conflicts, conflicts
from shared.memories.forget import Forgotten, forget, restore
from shared.memories.history import History, history
from shared.memories.remember import Remembered, remember
from shared.memories.requests import ConflictState, Remember, Revise
from shared.memories.revise import Revised, revise
from shared.memories.stats import Stats, stats
from shared.opening import opened
from shared.retrieval import meaning
from shared.retrieval.context import Context, context
from shared.retrieval.meaning import Meaning
from shared.retrieval.requests import ContextRequest, Found, Search, Understood
from shared.retrieval.search import search, words
from shared.retrieval.similar import Similar, similar
from shared.retrieval.terms import Asked
from shared.settings import Settings
from shared.status import Load, Model
from shared.timings import TimingBuffer

# The tool does not wait so long: it only bounds how long a late look holds its connection.
LATE_S = 10.0

_Result = TypeVar("_Result")

_SQL = statements.load("health")
_FLEET_IS_ALIVE = _SQL["fleet_is_alive"]
_TAKES_NO_WRITES = _SQL["takes_no_writes"]


async def open_backend(settings: Settings) -> Backend:
    """The opened database of the settings. Raises BackendUnavailable, ConfigurationError and SchemaMismatch."""
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(opened(settings, application="memhub-server"))
        async with database.connection("write") as connection:
            await registry.announce(connection, settings)
        embedder = QueryEmbedder(
            embedder_address(settings),
            timeout_s=settings.query_embedding_timeout_s,
            api_key=_revealed(settings.embedding_api_key),
        )
        stack.push_async_callback(embedder.close)
        upkeep = Upkeep(database, settings)
        stack.push_async_callback(upkeep.aclose)
        upkeep.start()
        return Postgres(database, settings, upkeep, _Memories(upkeep, embedder), stack.pop_all())


def _revealed(secret: SecretStr | None) -> str | None:
    return None if secret is None else secret.get_secret_value()


class Postgres:
    """An opened database and its services."""

    def __init__(
        self, database: Database, settings: Settings, upkeep: Upkeep, memories: _Memories, held: AsyncExitStack
    ) -> None:
        self._database = database
        self._settings = settings
        self._upkeep = upkeep
        self._held = held
        self.projects = projects
        self.memories = memories
        self.feed = feed

    @asynccontextmanager
    async def connection(self, work: Work) -> AsyncIterator[asyncpg.Connection]:
        try:
            async with self._database.connection(work) as connection:
                yield connection
        except BackendUnavailable:
            self._upkeep.revive()
            raise

    async def health(self) -> Health:
        async with self._database.connection("read") as connection:
            await migrations.verify(connection)
            if await connection.fetchval(_TAKES_NO_WRITES):
                raise read_only()
            alive = await connection.fetchval(_FLEET_IS_ALIVE, self._settings.worker_silence_s)
            return Health(fleet="alive" if alive else "absent")

    async def load(self) -> Load:
        return await status.load(self._database, self._upkeep.flushes())

    async def models(self) -> Sequence[Model]:
        async with self._database.connection("read") as connection:
            return await status.models(connection, self._settings)

    async def keep_timings(self, buffer: TimingBuffer) -> None:
        async with self._database.connection("write") as connection:
            await buffer.flush(connection)

    def beside(self, work: Coroutine[Any, Any, _Result]) -> asyncio.Task[_Result]:
        return self._upkeep.spawn(work)

    async def aclose(self) -> None:
        await self._held.aclose()


class _Memories:
    """The services by the names that the tools know, with what each owes beside its answer."""

    def __init__(self, upkeep: Upkeep, embedder: QueryEmbedder) -> None:
        self._upkeep = upkeep
        self._embedder = embedder

    async def remember(
        self, connection: asyncpg.Connection, scope: ProjectScope, author: Author, request: Remember
    ) -> Remembered:
        remembered = await remember(connection, scope, author, request)
        if remembered.embedding == "pending":
            self._upkeep.waker.wake()
        return remembered

    async def revise(
        self, connection: asyncpg.Connection, scope: ProjectScope, author: Author, request: Revise
    ) -> Revised:
        revised = await revise(connection, scope, author, request)
        if revised.outcome == "revised":
            self._upkeep.waker.wake()
        return revised

    async def forget(
        self,
        connection: asyncpg.Connection,
        scope: ProjectScope,
        author: Author,
        memory_id: UUID,
        *,
        reason: str | None,
    ) -> Forgotten:
        return await forget(connection, scope, author, memory_id, reason=reason)

    async def restore(
        self,
        connection: asyncpg.Connection,
        scope: ProjectScope,
        author: Author,
        memory_id: UUID,
        *,
        reason: str | None,
    ) -> Forgotten:
        restored = await restore(connection, scope, author, memory_id, reason=reason)
        if restored.outcome == "restored":
            self._upkeep.waker.wake()
        return restored

    async def current_model(self, connection: asyncpg.Connection) -> EmbeddingModel | None:
        return await meaning.current_model(connection)

    async def meaning(self, query: str | None, model: EmbeddingModel | None) -> Meaning:
        understood = await meaning.of_query(query, model, self._embedder)
        if query is not None and model is not None and understood.vector is None:
            self._upkeep.ensure_worker()
        return understood

    async def words(
        self,
        connection: asyncpg.Connection,
        scope: ProjectScope,
        author: Author,
        query: str,
        model: EmbeddingModel | None,
    ) -> Asked:
        return await words(connection, scope, author, query, model=model.name if model else None)

    async def search(
        self,
        connection: asyncpg.Connection,
        scope: ProjectScope,
        author: Author,
        request: Search,
        understood: Understood,
    ) -> Found:
        found = await search(connection, scope, author, request, meaning=understood.meaning, asked=understood.asked)
        if request.query is not None:
            self._upkeep.counters.count(scope.project_id, [hit.memory_id for hit in found.results], "search")
        return found

    async def context(
        self,
        connection: asyncpg.Connection,
        scope: ProjectScope,
        author: Author,
        request: ContextRequest,
        understood: Understood,
    ) -> Context:
        told = await context(connection, scope, author, request, meaning=understood.meaning, asked=understood.asked)
        self._upkeep.counters.count(scope.project_id, [item.memory_id for item in told.items], "context")
        return told

    async def similar(
        self,
        connection: asyncpg.Connection,
        scope: ProjectScope,
        author: Author,
        content: str,
        *,
        written: UUID,
        understood: Meaning,
    ) -> tuple[Similar, ...] | None:
        return await similar(connection, scope, author, content, written=written, meaning=understood, deadline_s=LATE_S)

    async def history(
        self,
        connection: asyncpg.Connection,
        scope: ProjectScope,
        author: Author,
        memory_id: UUID,
        *,
        before_revision: int | None = None,
    ) -> History:
        told = await history(connection, scope, author, memory_id, before_revision=before_revision)
        self._upkeep.counters.count(scope.project_id, [memory_id], "history")
        return told

    async def stats(self, connection: asyncpg.Connection, scope: ProjectScope, author: Author) -> Stats:
        return await stats(connection, scope, author)

    async def conflicts(
        self,
        connection: asyncpg.Connection,
        scope: ProjectScope,
        author: Author,
        *,
        state: ConflictState,
        limit: int,
        cursor: str | None,
    ) -> Conflicts:
        return await conflicts(connection, scope, author, state=state, limit=limit, cursor=cursor)

    async def read(
        self, connection: asyncpg.Connection, scope: ProjectScope, author: Author, memory_id: UUID
    ) -> Memory:
        return (await rows.read(connection, scope, author, memory_id)).memory
