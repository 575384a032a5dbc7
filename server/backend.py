"""The seam between the tools and the services: what a tool hands down, and what it needs of a database."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol
from uuid import UUID

from shared.domain import Author, AuthorKind, MemoryType, ProjectScope, Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberRequest:
    content: str
    type: MemoryType
    scope: Scope
    author: Author
    author_kind: AuthorKind
    category: str | None
    tags: tuple[str, ...]
    importance: int | None
    expires_at: datetime | None
    ttl_days: int | None
    supersedes: tuple[UUID, ...]
    source: str | None
    acknowledge_sensitive: bool
    client_request_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviseRequest:
    """None is unchanged; `tags=()` clears; `expires_at="never"` clears."""

    memory_id: UUID
    expected_revision: int
    content: str
    author: Author
    tags: tuple[str, ...] | None
    importance: int | None
    expires_at: datetime | Literal["never"] | None
    change_reason: str | None
    client_request_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetRequest:
    memory_id: UUID
    author: Author
    reason: str | None
    restore: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    query: str | None
    types: tuple[MemoryType, ...]
    tags: tuple[str, ...]
    match_all_tags: bool
    limit: int
    mode: Literal["precision", "balanced", "exploratory"]
    as_of: datetime | None
    cursor: str | None
    author: Author


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectHint:
    """Where a call that names no project may find one: the server's working folder and its remote."""

    workspace_path: str | None
    git_remote: str | None


class Projects(Protocol):
    async def use(
        self,
        connection: Any,
        *,
        tenant: str,
        project: str | None,
        git_remote: str | None,
        workspace_path: str | None,
        create: bool,
        display_name: str | None,
    ) -> object:
        """An object with the fields of the result of `project_use`."""
        ...

    async def resolve(
        self, connection: Any, *, tenant: str, project: str | None, hint: ProjectHint
    ) -> ProjectScope: ...

    async def owning(self, connection: Any, *, tenant: str, memory_id: UUID) -> ProjectScope:
        """The project of a memory; MemoryNotFound where this tenant has no such memory."""
        ...

    async def listed(self, connection: Any, *, tenant: str) -> Sequence[ProjectScope]: ...


class Memories(Protocol):
    """Each answer is an object with the fields of the tool's result model."""

    async def remember(self, connection: Any, scope: ProjectScope, request: RememberRequest) -> object: ...

    async def revise(self, connection: Any, scope: ProjectScope, request: ReviseRequest) -> object: ...

    async def forget(self, connection: Any, scope: ProjectScope, request: ForgetRequest) -> object: ...

    async def search(self, connection: Any, scope: ProjectScope, request: SearchRequest) -> object: ...

    async def history(
        self, connection: Any, scope: ProjectScope, *, memory_id: UUID, author: Author
    ) -> object: ...

    async def current(
        self, connection: Any, scope: ProjectScope, *, memory_id: UUID, author: Author
    ) -> object:
        """The memory as it may be found now; MemoryNotFound where it is retired or expired."""
        ...


class Backend(Protocol):
    """An opened database with the services that run on it."""

    @property
    def projects(self) -> Projects: ...

    @property
    def memories(self) -> Memories: ...

    def transaction(self) -> AbstractAsyncContextManager[Any]: ...

    def connection(self) -> AbstractAsyncContextManager[Any]: ...

    async def aclose(self) -> None: ...
