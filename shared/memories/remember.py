"""Remembering: a new memory, the retirement of those it replaces, or an attestation of one that already says it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID, uuid4

import asyncpg

from shared import outbox, statements
from shared.domain import Author, Memory, ProjectScope, Scope, Status
from shared.memories import idempotency, locks, races, rows, supersession
from shared.memories.locks import Locked, Twin
from shared.memories.refusals import refuse_past, task_expiry_told
from shared.memories.requests import Remember, fingerprint
from shared.memories.supersession import Obstacle
from shared.text.document import Document, prepare

_SQL = statements.load("memories")
_REMEMBER = _SQL["remember"]
_ATTEST = _SQL["attest"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """`memory` is None only when `refused`, which names its `obstacles` and wrote nothing.

    `differs` names what a deduplicated request said otherwise (type, tags, expires_at): the memory stays as it is.
    """

    outcome: Literal["created", "deduplicated", "idempotent_replay", "refused"]
    memory: Memory | None
    superseded: tuple[UUID, ...] = ()
    attestations: int = 0
    embedding: rows.Embedding = "disabled"
    differs: tuple[str, ...] = ()
    obstacles: tuple[Obstacle, ...] = ()


async def remember(
    connection: asyncpg.Connection, scope: ProjectScope, author: Author, request: Remember
) -> Remembered:
    """Writes and commits, on a connection that is in no transaction.

    Locks: the idempotency key, then the superseded memories and a live twin by ascending id, then the content.
    Raises MemoryNotFound for an unknown supersede target, InvalidArgument, IdempotencyKeyReused, BackendBusy.
    """
    write = _Write(connection, scope, author, request)

    async def attempt(number: int) -> Remembered:
        if number == 0 and not request.supersedes:
            created = await write.create(uuid4(), key=request.client_request_id)
            if created is not None:
                return created
        async with connection.transaction():
            return await write.carefully()

    with task_expiry_told():
        return await races.run(attempt)


class _Write:
    """One request on its way: what all its statements share, computed before the first of them."""

    def __init__(self, connection: asyncpg.Connection, scope: ProjectScope, author: Author, request: Remember) -> None:
        self._connection = connection
        self._scope = scope
        self._author = author
        self._request = request
        self._conversation = author.conversation if request.scope is Scope.CONVERSATION else None
        self._document: Document = prepare(scope.project_id, request.content)
        key = request.client_request_id
        self._fingerprint = None if key is None else fingerprint(request, conversation=self._conversation)
        self._ttl = None if request.ttl_days is None else timedelta(days=request.ttl_days)

    async def create(
        self, memory_id: UUID, *, key: str | None, superseded: tuple[UUID, ...] = (), at: datetime | None = None
    ) -> Remembered | None:
        """A new memory in one statement; None when a live twin stands, UniqueViolationError when one appeared."""
        request, author, document = self._request, self._author, self._document
        job = outbox.embed_job(
            project_id=self._scope.project_id, memory_id=memory_id, revision=1, traceparent=author.traceparent
        )
        row = await self._connection.fetchrow(
            _REMEMBER,
            self._scope.project_id,
            self._scope.tenant,
            memory_id,
            self._conversation,
            document.content,
            document.content_hash,
            document.plain,
            document.lexemes,
            request.type,
            request.category,
            list(request.tags),
            request.importance,
            request.expires_at,
            self._ttl,
            author.client,
            author.conversation,
            request.author_kind,
            request.source,
            author.request_id,
            key,
            self._fingerprint,
            None if key is None else idempotency.encode(_created(memory_id, superseded)),
            idempotency.encode(self._audit_details(superseded)),
            outbox.encode(job),
            at,
        )
        if row is None:
            return None
        return Remembered(
            outcome="created",
            memory=self._new_memory(memory_id, at=row["at"], expires_at=row["expires_at"]),
            superseded=superseded,
            attestations=1,
            embedding="pending" if row["pending"] else "disabled",
        )

    async def carefully(self) -> Remembered:
        """The same with every lock taken first; runs inside the caller's transaction."""
        key = self._request.client_request_id
        stored = await idempotency.claim(self._connection, self._scope, key, self._fingerprint)
        if stored is not None:
            return await self._replay(stored)
        await refuse_past(self._connection, self._request.expires_at)
        locked, twin = await self._lock()
        obstacles = supersession.obstacles(
            self._scope, self._request.supersedes, locked, conversation=self._conversation
        )
        if obstacles:
            await idempotency.release(self._connection, self._scope, key)
            return Remembered(outcome="refused", memory=None, obstacles=obstacles)
        if twin is None:
            return await self._replace(uuid4())
        return await self._deduplicate(locked[twin.memory_id])

    async def _lock(self) -> tuple[dict[UUID, Locked], Twin | None]:
        """Targets and twins, locked together, and the twin that stands."""
        seen = await self._twins()
        targets = self._request.supersedes
        locked = await locks.lock(
            self._connection, self._scope, self._author, {*targets, *(twin.memory_id for twin in seen)}
        )
        twins = [twin for twin in await self._twins() if twin.memory_id not in targets]
        return locked, await locks.standing(self._connection, self._scope, twins, locked=locked.keys())

    async def _twins(self) -> list[Twin]:
        return await locks.twins(
            self._connection,
            self._scope,
            scope_key=self._conversation or "",
            content_hash=self._document.content_hash,
        )

    async def _replace(self, memory_id: UUID) -> Remembered:
        superseded = self._request.supersedes
        at = await supersession.retire(self._connection, self._scope, self._author, superseded, successor=memory_id)
        created = await self.create(memory_id, key=None, superseded=superseded, at=at)
        if created is None:
            raise races.Raced
        await idempotency.settle(
            self._connection, self._scope, self._request.client_request_id, _created(memory_id, superseded)
        )
        return created

    async def _deduplicate(self, twin: Locked) -> Remembered:
        superseded = self._request.supersedes
        await supersession.retire(self._connection, self._scope, self._author, superseded, successor=twin.memory_id)
        attested = await self._attest(twin)
        state = await rows.read(self._connection, self._scope, self._author, twin.memory_id)
        differs = self._differences(state.memory, attested["expires_at"])
        response = _response(
            "deduplicated",
            twin.memory_id,
            revision=twin.revision,
            superseded=superseded,
            attestations=attested["attestations"],
            differs=differs,
        )
        await idempotency.settle(self._connection, self._scope, self._request.client_request_id, response)
        return Remembered(
            outcome="deduplicated",
            memory=state.memory,
            superseded=superseded,
            attestations=attested["attestations"],
            embedding=state.embedding,
            differs=differs,
        )

    async def _attest(self, twin: Locked) -> asyncpg.Record:
        request, author = self._request, self._author
        attested = await self._connection.fetchrow(
            _ATTEST,
            self._scope.project_id,
            self._scope.tenant,
            twin.memory_id,
            twin.revision,
            author.client,
            author.conversation,
            request.author_kind,
            request.type,
            request.category,
            list(request.tags),
            request.importance,
            request.expires_at,
            self._ttl,
            request.source,
            author.request_id,
            idempotency.encode(self._audit_details(request.supersedes)),
        )
        assert attested is not None
        return attested

    async def _replay(self, stored: dict[str, Any]) -> Remembered:
        state = await rows.read(
            self._connection,
            self._scope,
            self._author,
            UUID(stored["memory_id"]),
            revision=stored["revision"],
        )
        return Remembered(
            outcome="idempotent_replay",
            memory=state.memory,
            superseded=tuple(UUID(memory_id) for memory_id in stored["superseded"]),
            attestations=stored["attestations"],
            embedding=state.embedding,
            differs=tuple(stored["differs"]),
        )

    def _differences(self, memory: Memory, expires_at: datetime | None) -> tuple[str, ...]:
        said = {
            "type": (self._request.type, memory.type),
            "tags": (set(self._request.tags), set(memory.tags)),
            "expires_at": (expires_at, memory.expires_at),
        }
        return tuple(name for name, (here, there) in said.items() if here != there)

    def _audit_details(self, superseded: tuple[UUID, ...]) -> dict[str, Any]:
        details: dict[str, Any] = {"supersedes": [str(memory_id) for memory_id in superseded]} if superseded else {}
        if self._request.acknowledged is not None:
            details["acknowledged_sensitive"] = self._request.acknowledged
        return details

    def _new_memory(self, memory_id: UUID, *, at: datetime, expires_at: datetime | None) -> Memory:
        request = self._request
        return Memory(
            memory_id=memory_id,
            revision=1,
            status=Status.ACTIVE,
            type=request.type,
            scope=request.scope,
            content=request.content,
            category=request.category,
            tags=request.tags,
            importance=request.importance,
            expires_at=expires_at,
            expired=False,
            author_client=self._author.client,
            author_kind=request.author_kind,
            source=request.source,
            created_at=at,
            updated_at=at,
        )


def _created(memory_id: UUID, superseded: tuple[UUID, ...]) -> dict[str, Any]:
    return _response("created", memory_id, revision=1, superseded=superseded, attestations=1)


def _response(
    outcome: str,
    memory_id: UUID,
    *,
    revision: int,
    superseded: tuple[UUID, ...],
    attestations: int,
    differs: tuple[str, ...] = (),
) -> dict[str, Any]:
    return {
        "outcome": outcome,
        "memory_id": str(memory_id),
        "revision": revision,
        "superseded": [str(target) for target in superseded],
        "attestations": attestations,
        "differs": list(differs),
    }
