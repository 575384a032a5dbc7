"""The seam between the tools and the services: what a tool needs of an opened database.

The services are named as types alone: whoever imports them pays for the driver, and a server answers before it does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar
from uuid import UUID

from shared.domain import Aliases, Author, Changes, Memory, ProjectScope, Used
from shared.embedding.models import EmbeddingModel
from shared.memories.requests import ConflictState, Remember, Revise
from shared.retrieval.requests import ContextRequest, Found, Search, Understood

if TYPE_CHECKING:
    from asyncpg import Connection

    from shared.database import Work
    from shared.memories.conflicts import Conflicts
    from shared.memories.forget import Forgotten
    from shared.memories.history import History
    from shared.memories.remember import Remembered
    from shared.memories.revise import Revised
    from shared.memories.stats import Stats
    from shared.projects import Listed
    from shared.retrieval.context import Context
    from shared.retrieval.meaning import Meaning
    from shared.retrieval.similar import Similar
    from shared.retrieval.terms import Asked
    from shared.status import Load, Model
    from shared.timings import TimingBuffer

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Health:
    """What a database that can be served from says of itself."""

    fleet: Literal["alive", "absent"]


class Projects(Protocol):
    """shared.projects, or what a bound credential sees of it."""

    async def use(
        self,
        connection: Connection,
        tenant: str,
        author: Author,
        *,
        project: UUID | str | None,
        aliases: Aliases,
        create: bool,
        display_name: str | None,
    ) -> Used: ...

    async def resolve(self, connection: Connection, tenant: str, project: UUID | str) -> ProjectScope: ...

    async def resolve_alias(self, connection: Connection, tenant: str, aliases: Aliases) -> ProjectScope: ...

    async def listed(self, connection: Connection, tenant: str) -> Sequence[Listed]: ...

    async def default(self, connection: Connection, tenant: str) -> ProjectScope: ...

    async def ensure_default(self, connection: Connection, tenant: str, author: Author) -> ProjectScope: ...

    async def owning(
        self, connection: Connection, tenant: str, memory_id: UUID, *, conversation: str | None
    ) -> ProjectScope: ...


class Memories(Protocol):
    """The services of shared.memories and shared.retrieval; those that write commit."""

    async def remember(
        self, connection: Connection, scope: ProjectScope, author: Author, request: Remember
    ) -> Remembered: ...

    async def revise(self, connection: Connection, scope: ProjectScope, author: Author, request: Revise) -> Revised: ...

    async def forget(
        self, connection: Connection, scope: ProjectScope, author: Author, memory_id: UUID, *, reason: str | None
    ) -> Forgotten: ...

    async def restore(
        self, connection: Connection, scope: ProjectScope, author: Author, memory_id: UUID, *, reason: str | None
    ) -> Forgotten: ...

    async def current_model(self, connection: Connection) -> EmbeddingModel | None:
        """The model whose vectors answer searches now."""
        ...

    async def meaning(self, query: str | None, model: EmbeddingModel | None) -> Meaning:
        """The query's vector, or why there is none, within the embedder's deadline; hold no connection meanwhile."""
        ...

    async def words(
        self, connection: Connection, scope: ProjectScope, author: Author, query: str, model: EmbeddingModel | None
    ) -> Asked:
        """The query's words, which need no vector: looked up while it is made."""
        ...

    async def search(
        self,
        connection: Connection,
        scope: ProjectScope,
        author: Author,
        request: Search,
        understood: Understood,
    ) -> Found: ...

    async def context(
        self,
        connection: Connection,
        scope: ProjectScope,
        author: Author,
        request: ContextRequest,
        understood: Understood,
    ) -> Context: ...

    async def similar(
        self,
        connection: Connection,
        scope: ProjectScope,
        author: Author,
        content: str,
        *,
        written: UUID,
        understood: Meaning,
    ) -> Sequence[Similar] | None:
        """Live memories close to what was written; None where they would come late."""
        ...

    async def history(
        self,
        connection: Connection,
        scope: ProjectScope,
        author: Author,
        memory_id: UUID,
        *,
        before_revision: int | None = None,
    ) -> History: ...

    async def stats(self, connection: Connection, scope: ProjectScope, author: Author) -> Stats: ...

    async def conflicts(
        self,
        connection: Connection,
        scope: ProjectScope,
        author: Author,
        *,
        state: ConflictState,
        limit: int,
        cursor: str | None,
    ) -> Conflicts: ...

    async def read(self, connection: Connection, scope: ProjectScope, author: Author, memory_id: UUID) -> Memory: ...


class Feed(Protocol):
    """What changed, whoever wrote it."""

    async def snapshot(self, connection: Connection) -> str: ...

    async def since(self, connection: Connection, snapshot: str) -> Changes: ...


class Backend(Protocol):
    """An opened database with the services that run on it."""

    @property
    def projects(self) -> Projects: ...

    @property
    def memories(self) -> Memories: ...

    @property
    def feed(self) -> Feed: ...

    def connection(self, work: Work) -> AbstractAsyncContextManager[Connection]:
        """A connection in no transaction; what the driver raises inside leaves as a MemhubError."""
        ...

    async def health(self) -> Health:
        """Raises BackendUnavailable and SchemaMismatch where calls could not be served."""
        ...

    async def load(self) -> Load: ...

    async def models(self) -> Sequence[Model]:
        """The embedding models, with how much each has embedded."""
        ...

    async def keep_timings(self, buffer: TimingBuffer) -> None:
        """Writes what was noted, once; without a connection it stays in the buffer."""
        ...

    def beside(self, work: Coroutine[Any, Any, _Result]) -> asyncio.Task[_Result]:
        """Begins what may outlive its call; it ends with the backend."""
        ...

    async def aclose(self) -> None: ...
