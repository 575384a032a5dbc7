"""A backend in memory: enough of the services to see what the tools hand down and show of the answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal
from uuid import UUID, uuid5

from server.backend import Health
from shared.database import Work
from shared.domain import Aliases, Author, AuthorKind, Change, Changes, Memory, ProjectScope, Status, Used
from shared.embedding.models import EmbeddingModel
from shared.errors import MemoryNotFound, ProjectNotFound, ProjectRequired
from shared.memories.conflicts import Conflict, Conflicts
from shared.memories.forget import Forgotten
from shared.memories.history import History, Revision
from shared.memories.remember import Remembered
from shared.memories.requests import Remember, Revise
from shared.memories.revise import Revised
from shared.memories.stats import Group, Stats
from shared.projects import Listed
from shared.retrieval.context import Budget, Context, Selection
from shared.retrieval.meaning import UNKNOWN, Meaning
from shared.retrieval.requests import ContextRequest, Found, Hit, Search, Understood
from shared.retrieval.selection import Dropped
from shared.retrieval.terms import Asked
from shared.status import Load, Model

NAMESPACE = UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
NOW = datetime(2026, 7, 1, tzinfo=UTC)


def project_id(slug: str) -> UUID:
    return uuid5(NAMESPACE, slug)


@dataclass
class InMemory:
    """Both kinds of services in one; `asked` records every request in order."""

    slugs: dict[str, ProjectScope] = field(default_factory=dict)
    held: dict[UUID, Memory] = field(default_factory=dict)
    asked: list[Any] = field(default_factory=list)
    authors: list[Author] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    conflicted: list[Conflict] = field(default_factory=list)
    late: set[asyncio.Task[Any]] = field(default_factory=set)
    opened: int = 0
    timed: int = 0

    @property
    def projects(self) -> InMemory:
        return self

    @property
    def memories(self) -> InMemory:
        return self

    @property
    def feed(self) -> InMemory:
        return self

    async def snapshot(self, connection: Any) -> str:
        return str(len(self.changes))

    async def since(self, connection: Any, snapshot: str) -> Changes:
        return Changes(str(len(self.changes)), tuple(self.changes[int(snapshot) :]), overflowed=False)

    @asynccontextmanager
    async def connection(self, work: Work) -> AsyncIterator[Any]:
        self.opened += 1
        yield self

    async def health(self) -> Health:
        return Health(fleet="absent")

    def beside(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self.late.add(task)
        task.add_done_callback(self.late.discard)
        return task

    async def load(self) -> Load:
        return Load(pools=(), queues=(), flushes=None)

    async def models(self) -> Sequence[Model]:
        return ()

    async def keep_timings(self, buffer: Any) -> None:
        self.timed = len(buffer)

    async def aclose(self) -> None:
        self.opened = 0

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
    ) -> Used:
        self.asked.append((tenant, project, dict(aliases), create, display_name))
        slug = str(project)
        if slug not in self.slugs and not create:
            raise ProjectNotFound(f"project: there is no project {slug}.", next="Make it.")
        outcome: Literal["resolved", "created"] = "resolved" if slug in self.slugs else "created"
        scope = self.slugs.setdefault(
            slug,
            ProjectScope(tenant=tenant, project_id=project_id(slug), slug=slug, display_name=display_name),
        )
        return Used(outcome, scope)

    async def resolve(self, connection: Any, tenant: str, project: UUID | str) -> ProjectScope:
        for scope in self.slugs.values():
            if scope.tenant == tenant and project in (scope.slug, scope.project_id):
                return scope
        raise ProjectNotFound(f"project: there is no project {project}.", next="Make it.")

    async def resolve_alias(self, connection: Any, tenant: str, aliases: Aliases) -> ProjectScope:
        raise ProjectRequired("project: none was named.", next="Give project.")

    async def default(self, connection: Any, tenant: str) -> ProjectScope:
        return await self.resolve(connection, tenant, "default")

    async def ensure_default(self, connection: Any, tenant: str, author: Author) -> ProjectScope:
        slug = "default"
        made = ProjectScope(tenant=tenant, project_id=project_id(slug), slug=slug, display_name=None)
        return self.slugs.setdefault(slug, made)

    async def listed(self, connection: Any, tenant: str) -> list[Listed]:
        return [Listed(scope, aliases=()) for scope in self.slugs.values() if scope.tenant == tenant]

    async def owning(self, connection: Any, tenant: str, memory_id: UUID, **_: Any) -> ProjectScope:
        if memory_id not in self.held:
            raise MemoryNotFound(f"memory_id: no memory {memory_id}.", next="Search.")
        return next(iter(self.slugs.values()))

    async def remember(self, connection: Any, scope: ProjectScope, author: Author, request: Remember) -> Remembered:
        self._note(author, request)
        memory = Memory(
            memory_id=uuid5(scope.project_id, request.content),
            revision=1,
            status=Status.ACTIVE,
            type=request.type,
            scope=request.scope,
            content=request.content,
            category=request.category,
            tags=request.tags,
            importance=request.importance,
            expires_at=request.expires_at,
            expired=False,
            author_client=author.client,
            author_kind=request.author_kind,
            source=request.source,
            created_at=NOW,
            updated_at=NOW,
        )
        self.held[memory.memory_id] = memory
        return Remembered(
            outcome="created", memory=memory, superseded=request.supersedes, attestations=1, embedding="pending"
        )

    async def revise(self, connection: Any, scope: ProjectScope, author: Author, request: Revise) -> Revised:
        self._note(author, request)
        memory = await self.read(connection, scope, author, request.memory_id)
        if memory.revision != request.expected_revision:
            return Revised(outcome="conflict", memory=memory)
        revised = replace(memory, content=request.content, revision=memory.revision + 1)
        self.held[memory.memory_id] = revised
        return Revised(outcome="revised", memory=revised, previous_revision=memory.revision)

    async def forget(
        self, connection: Any, scope: ProjectScope, author: Author, memory_id: UUID, *, reason: str | None
    ) -> Forgotten:
        self._note(author, ("forget", memory_id, reason))
        memory = await self.read(connection, scope, author, memory_id)
        self.held[memory_id] = replace(memory, status=Status.DELETED)
        return Forgotten(outcome="forgotten", memory=self.held[memory_id])

    async def restore(
        self, connection: Any, scope: ProjectScope, author: Author, memory_id: UUID, *, reason: str | None
    ) -> Forgotten:
        self._note(author, ("restore", memory_id, reason))
        memory = await self.read(connection, scope, author, memory_id)
        self.held[memory_id] = replace(memory, status=Status.ACTIVE, revision=memory.revision + 1)
        return Forgotten(outcome="restored", memory=self.held[memory_id])

    async def current_model(self, connection: Any) -> None:
        return None

    async def meaning(self, query: str | None, model: EmbeddingModel | None) -> Meaning:
        return UNKNOWN

    async def words(
        self, connection: Any, scope: ProjectScope, author: Author, query: str, model: EmbeddingModel | None
    ) -> Asked:
        return Asked(terms=(), rare=None, common=None, memories=len(self.held), model_id=None, floor=None)

    async def context(
        self,
        connection: Any,
        scope: ProjectScope,
        author: Author,
        request: ContextRequest,
        understood: Understood,
    ) -> Context:
        nothing = Selection(considered=0, selected=0, dropped=Dropped())
        return Context(brief="", items=(), budget=Budget(request.token_budget, used=0), selection=nothing)

    async def similar(self, connection: Any, scope: ProjectScope, author: Author, content: str, **_: Any) -> tuple[()]:
        return ()

    async def stats(self, connection: Any, scope: ProjectScope, author: Author) -> Stats:
        groups = tuple(Group(memory.status, memory.type, memory.scope, 1, 0) for memory in self.held.values())
        return Stats(groups=groups, searchable=len(self.held), embedded=0, most_used=(), last_writes=())

    async def conflicts(self, connection: Any, scope: ProjectScope, author: Author, **asked: Any) -> Conflicts:
        self._note(author, asked)
        return Conflicts(conflicts=tuple(self.conflicted), guidance="Replaced.", next_cursor=None)

    async def search(
        self,
        connection: Any,
        scope: ProjectScope,
        author: Author,
        request: Search,
        understood: Understood,
    ) -> Found:
        self._note(author, request)
        found = [memory for memory in self.held.values() if memory.status is Status.ACTIVE]
        hits = tuple(_hit(memory) for memory in found[: request.limit])
        return Found(
            results=hits,
            confidence="high" if hits else "low",
            guidance="These answer." if hits else "No memory answers this.",
            semantic_coverage=0.0,
            degraded="lexical only",
        )

    async def history(
        self,
        connection: Any,
        scope: ProjectScope,
        author: Author,
        memory_id: UUID,
        *,
        before_revision: int | None = None,
    ) -> History:
        memory = await self.read(connection, scope, author, memory_id)
        revision = Revision(
            revision=1,
            origin="remember",
            content=memory.content,
            type=memory.type,
            category=None,
            tags=(),
            importance=None,
            expires_at=None,
            author_client=memory.author_client,
            author_kind=AuthorKind.AGENT,
            source=None,
            reason=None,
            valid_from=NOW,
            valid_to=None,
            purged_at=None,
        )
        return History(
            earlier_revisions=None,
            memory_id=memory_id,
            status=memory.status,
            scope=memory.scope,
            created_at=NOW,
            retired_at=None,
            retired_by=None,
            supersedes=(),
            superseded_by=None,
            revisions=(revision,),
            attestations=(),
            events=(),
        )

    async def read(self, connection: Any, scope: ProjectScope, author: Author, memory_id: UUID) -> Memory:
        if memory_id not in self.held:
            raise MemoryNotFound(f"memory_id: no memory {memory_id}.", next="Search.")
        return self.held[memory_id]

    def _note(self, author: Author, request: object) -> None:
        self.authors.append(author)
        self.asked.append(request)


def _hit(memory: Memory) -> Hit:
    assert memory.content is not None
    return Hit(
        memory_id=memory.memory_id,
        revision=memory.revision,
        type=memory.type,
        content=memory.content,
        tags=memory.tags,
        author_client=memory.author_client,
        created_at=memory.created_at,
        updated_at=memory.updated_at,
        score=1.0,
        why={"lexical": 1.0},
    )


def with_project(slug: str = "app", *, tenant: str = "local") -> InMemory:
    scope = ProjectScope(tenant=tenant, project_id=project_id(slug), slug=slug, display_name=None)
    return InMemory(slugs={slug: scope})
