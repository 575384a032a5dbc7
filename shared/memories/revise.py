"""Revising: compare-and-set on the head of a memory; one writer wins, every other is told what won."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

import asyncpg

from shared import outbox, statements
from shared.domain import Author, AuthorKind, Memory, MemoryType, ProjectScope, Scope, Status
from shared.memories import idempotency, locks, races, rows
from shared.memories.refusals import refuse_past, task_expiry_told
from shared.memories.requests import Revise, fingerprint
from shared.text.document import prepare

_REVISE = statements.load("memories")["revise"]

Outcome = Literal["revised", "conflict", "not_active", "duplicate", "idempotent_replay"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Revised:
    """`memory` is what stands now: the new revision, on `conflict` what won, on `duplicate` the memory that says so."""

    outcome: Outcome
    memory: Memory
    previous_revision: int | None = None


async def revise(connection: asyncpg.Connection, scope: ProjectScope, author: Author, request: Revise) -> Revised:
    """Writes and commits, on a connection that is in no transaction.

    Locks: the idempotency key, then the memory and a live twin by ascending id, then the content.
    Raises MemoryNotFound, InvalidArgument (a TASK must expire), IdempotencyKeyReused, BackendBusy.
    """
    write = _Write(connection, scope, author, request)

    async def attempt(number: int) -> Revised:
        if number == 0 and request.client_request_id is None:
            revised = await write.move()
            if revised is not None:
                return revised
        async with connection.transaction():
            return await write.carefully()

    with task_expiry_told():
        return await races.run(attempt)


class _Write:
    """One request on its way: what all its statements share, computed before the first of them."""

    def __init__(self, connection: asyncpg.Connection, scope: ProjectScope, author: Author, request: Revise) -> None:
        self._connection = connection
        self._scope = scope
        self._author = author
        self._request = request
        self._document = prepare(scope.project_id, request.content)
        key = request.client_request_id
        self._fingerprint = None if key is None else fingerprint(request, conversation=author.conversation)

    async def move(self) -> Revised | None:
        """The compare-and-set in one statement; None when anything stood against it and nothing was written."""
        request, author, document = self._request, self._author, self._document
        job = outbox.embed_job(
            project_id=self._scope.project_id,
            memory_id=request.memory_id,
            revision=request.expected_revision + 1,
            traceparent=author.traceparent,
        )
        row = await self._connection.fetchrow(
            _REVISE,
            self._scope.project_id,
            self._scope.tenant,
            request.memory_id,
            author.conversation,
            request.expected_revision,
            document.content,
            document.content_hash,
            document.plain,
            document.lexemes,
            None if request.tags is None else list(request.tags),
            request.importance,
            request.expires_at,
            request.never_expires,
            request.reason,
            author.client,
            author.request_id,
            outbox.encode(job),
            idempotency.encode(self._audit_details()),
        )
        return None if row is None else self._revised(row)

    async def carefully(self) -> Revised:
        """The same with every lock taken first; runs inside the caller's transaction."""
        key = self._request.client_request_id
        stored = await idempotency.claim(self._connection, self._scope, key, self._fingerprint)
        if stored is not None:
            return await self._replay(stored)
        await refuse_past(self._connection, self._request.expires_at)
        obstacle = await self._obstacle()
        if obstacle is not None:
            await idempotency.release(self._connection, self._scope, key)
            return obstacle
        revised = await self.move()
        if revised is None:
            await idempotency.release(self._connection, self._scope, key)
            return Revised(outcome="not_active", memory=await self._read(self._request.memory_id))
        response = {"memory_id": str(self._request.memory_id), "revision": revised.memory.revision}
        await idempotency.settle(self._connection, self._scope, key, response)
        return revised

    async def _obstacle(self) -> Revised | None:
        """Locks the memory and its twins and says what stands against the revision; expired twins give way."""
        request = self._request
        head = await self._read(request.memory_id)
        seen = await self._twins(head)
        locked = await locks.lock(
            self._connection,
            self._scope,
            self._author,
            {request.memory_id, *(twin.memory_id for twin in seen)},
        )
        if locked[request.memory_id].status is not Status.ACTIVE:
            return Revised(outcome="not_active", memory=await self._read(request.memory_id))
        if locked[request.memory_id].revision != request.expected_revision:
            return Revised(outcome="conflict", memory=await self._read(request.memory_id))
        twins = await self._twins(head)
        standing = await locks.standing(self._connection, self._scope, twins, locked=locked.keys())
        if standing is not None:
            return Revised(outcome="duplicate", memory=await self._read(standing.memory_id))
        return None

    async def _twins(self, head: Memory) -> list[locks.Twin]:
        return await locks.twins(
            self._connection,
            self._scope,
            scope_key=(self._author.conversation or "") if head.scope is Scope.CONVERSATION else "",
            content_hash=self._document.content_hash,
            besides=self._request.memory_id,
        )

    async def _read(self, memory_id: UUID, *, revision: int | None = None) -> Memory:
        return (await rows.read(self._connection, self._scope, self._author, memory_id, revision=revision)).memory

    async def _replay(self, stored: dict[str, Any]) -> Revised:
        return Revised(
            outcome="idempotent_replay",
            memory=await self._read(UUID(stored["memory_id"]), revision=stored["revision"]),
            previous_revision=stored["revision"] - 1,
        )

    def _audit_details(self) -> dict[str, Any]:
        return {} if self._request.reason is None else {"reason": self._request.reason}

    def _revised(self, row: asyncpg.Record) -> Revised:
        memory = Memory(
            memory_id=self._request.memory_id,
            revision=row["revision_no"],
            status=Status.ACTIVE,
            type=MemoryType(row["type"]),
            scope=Scope.CONVERSATION if row["scope_key"] else Scope.PROJECT,
            content=self._request.content,
            category=row["category"],
            tags=tuple(row["tags"]),
            importance=row["importance"],
            expires_at=row["expires_at"],
            expired=False,
            author_client=self._author.client,
            author_kind=AuthorKind.AGENT,
            source=row["source"],
            created_at=row["created_at"],
            updated_at=row["at"],
        )
        return Revised(outcome="revised", memory=memory, previous_revision=self._request.expected_revision)
