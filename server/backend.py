"""The seam between the tools and the services: what a tool needs of an opened database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Literal, Protocol
from uuid import UUID

from shared.domain import Author, Changes, Memory, MemoryType, ProjectScope
from shared.embedding.models import EmbeddingModel
from shared.memories.conflicts import State
from shared.memories.requests import Remember, Revise
from shared.retrieval.requests import Search
from shared.timings import TimingBuffer

AliasKind = Literal["git_remote", "workspace_path"]
Aliases = Mapping[AliasKind, str]
Work = Literal["read", "write"]


@dataclass(frozen=True, slots=True)
class Health:
    """What a database that can be served from says of itself."""

    fleet: Literal["alive", "absent"]


@dataclass(frozen=True, slots=True)
class Pool:
    work: Work
    in_use: int
    idle: int
    connections_max: int


class Queue(Protocol):
    """`oldest_due_age_s` is None when no job is due."""

    @property
    def queue(self) -> str: ...

    @property
    def todo(self) -> int: ...

    @property
    def doing(self) -> int: ...

    @property
    def failed(self) -> int: ...

    @property
    def oldest_due_age_s(self) -> float | None: ...


@dataclass(frozen=True, slots=True)
class Load:
    """How much there is to do, and how many connections do it."""

    pools: tuple[Pool, ...]
    queues: Sequence[Queue]


class Used(Protocol):
    @property
    def outcome(self) -> Literal["resolved", "created"]: ...

    @property
    def project(self) -> ProjectScope: ...


class Listed(Protocol):
    @property
    def project(self) -> ProjectScope: ...


class Projects(Protocol):
    async def use(
        self,
        connection: Any,
        tenant: str,
        author: Author,
        *,
        project: UUID | str | None,
        aliases: Aliases,
        create: bool,
        display_name: str | None,
    ) -> Used: ...

    async def resolve(self, connection: Any, tenant: str, project: UUID | str) -> ProjectScope: ...

    async def resolve_alias(self, connection: Any, tenant: str, aliases: Aliases) -> ProjectScope: ...

    async def listed(self, connection: Any, tenant: str) -> Sequence[Listed]: ...

    async def default(self, connection: Any, tenant: str) -> ProjectScope:
        """The tenant's project `default`, or where there is none a scope that holds nothing."""
        ...

    async def ensure_default(self, connection: Any, tenant: str, author: Author) -> ProjectScope: ...

    async def owning(self, connection: Any, tenant: str, memory_id: UUID) -> ProjectScope:
        """The project of a memory; MemoryNotFound where this tenant has no such memory."""
        ...


class Memories(Protocol):
    """The services. Each commits; what `object` stands for has the fields of the tool's result model."""

    async def remember(self, connection: Any, scope: ProjectScope, author: Author, request: Remember) -> object: ...

    async def revise(self, connection: Any, scope: ProjectScope, author: Author, request: Revise) -> object: ...

    async def forget(
        self, connection: Any, scope: ProjectScope, author: Author, memory_id: UUID, *, reason: str | None
    ) -> object: ...

    async def restore(
        self, connection: Any, scope: ProjectScope, author: Author, memory_id: UUID, *, reason: str | None
    ) -> object: ...

    async def current_model(self, connection: Any) -> EmbeddingModel | None:
        """The model whose vectors answer searches now."""
        ...

    async def meaning(self, query: str | None, model: EmbeddingModel | None) -> Any:
        """The query's vector, or why there is none, within the embedder's deadline; hold no connection meanwhile."""
        ...

    async def search(
        self, connection: Any, scope: ProjectScope, author: Author, request: Search, understood: Any
    ) -> object: ...

    async def history(self, connection: Any, scope: ProjectScope, author: Author, memory_id: UUID) -> object: ...

    async def context(
        self,
        connection: Any,
        scope: ProjectScope,
        author: Author,
        *,
        query: str | None,
        token_budget: int,
        types: tuple[MemoryType, ...] | None,
        understood: Any,
    ) -> object: ...

    async def similar(
        self, connection: Any, scope: ProjectScope, author: Author, content: str, *, written: UUID, understood: Any
    ) -> Sequence[object]:
        """Live memories close to what was written; none where they would come late."""
        ...

    async def stats(self, connection: Any, scope: ProjectScope, author: Author) -> object: ...

    async def conflicts(
        self,
        connection: Any,
        scope: ProjectScope,
        author: Author,
        *,
        state: State,
        limit: int,
        cursor: str | None,
    ) -> object: ...

    async def read(self, connection: Any, scope: ProjectScope, author: Author, memory_id: UUID) -> Memory: ...


class Feed(Protocol):
    """What changed, whoever wrote it."""

    async def snapshot(self, connection: Any) -> str: ...

    async def since(self, connection: Any, snapshot: str) -> Changes: ...


class Backend(Protocol):
    """An opened database with the services that run on it."""

    @property
    def projects(self) -> Projects: ...

    @property
    def memories(self) -> Memories: ...

    @property
    def feed(self) -> Feed: ...

    def connection(self, work: Work) -> AbstractAsyncContextManager[Any]:
        """A connection in no transaction; what the driver raises inside leaves as a MemhubError."""
        ...

    async def health(self) -> Health:
        """Raises BackendUnavailable and SchemaMismatch where calls could not be served."""
        ...

    async def load(self) -> Load: ...

    async def keep_timings(self, buffer: TimingBuffer) -> None:
        """Writes what was noted, and empties the buffer whether it could be written or not."""
        ...

    async def aclose(self) -> None: ...
