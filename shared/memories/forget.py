"""Forgetting and restoring: a tombstone that keeps every word, and the way back from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, assert_never
from uuid import UUID

import asyncpg

from shared import outbox, statements
from shared.domain import Author, Memory, ProjectScope, Scope, Status
from shared.memories import idempotency, locks, races, rows
from shared.text.canonical import content_hash

_SQL = statements.load("memories")
_FORGET = _SQL["forget"]
_RESTORE = _SQL["restore"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """`memory` is as it stands now; on `duplicate` it is the live memory that already says so."""

    outcome: Literal["forgotten", "already_forgotten", "restored", "already_active", "not_active", "duplicate"]
    memory: Memory


async def forget(
    connection: asyncpg.Connection,
    scope: ProjectScope,
    author: Author,
    memory_id: UUID,
    *,
    reason: str | None = None,
) -> Forgotten:
    """Takes a memory out of the live set and commits; its content and history stay.

    Locks the memory. Raises MemoryNotFound.
    """

    async def attempt(number: int) -> Forgotten:
        if number == 0:
            return await _forget(connection, scope, author, memory_id, reason)
        async with connection.transaction():
            await locks.lock(connection, scope, author, {memory_id})
            return await _forget(connection, scope, author, memory_id, reason)

    return await races.run(attempt)


async def _forget(
    connection: asyncpg.Connection, scope: ProjectScope, author: Author, memory_id: UUID, reason: str | None
) -> Forgotten:
    row = await connection.fetchrow(
        _FORGET,
        scope.project_id,
        scope.tenant,
        memory_id,
        author.conversation,
        author.client,
        author.request_id,
        idempotency.encode({} if reason is None else {"reason": reason}),
    )
    if row is not None:
        return Forgotten(outcome="forgotten", memory=rows.memory(row))
    memory = (await rows.read(connection, scope, author, memory_id)).memory
    match memory.status:
        case Status.DELETED:
            return Forgotten(outcome="already_forgotten", memory=memory)
        case Status.SUPERSEDED:
            return Forgotten(outcome="not_active", memory=memory)
        case Status.ACTIVE:
            raise races.Raced
    assert_never(memory.status)


async def restore(
    connection: asyncpg.Connection,
    scope: ProjectScope,
    author: Author,
    memory_id: UUID,
    *,
    reason: str | None = None,
) -> Forgotten:
    """Brings back what was forgotten, or retired by a judge, and has not expired, as a new revision, and commits.

    Locks the memory and a live twin by ascending id, then the content. Raises MemoryNotFound, BackendBusy.
    """

    async def attempt(_number: int) -> Forgotten:
        async with connection.transaction():
            return await _restore(connection, scope, author, memory_id, reason)

    return await races.run(attempt)


async def _restore(
    connection: asyncpg.Connection, scope: ProjectScope, author: Author, memory_id: UUID, reason: str | None
) -> Forgotten:
    retired = (await rows.read(connection, scope, author, memory_id)).memory
    if retired.status is Status.ACTIVE:
        return Forgotten(outcome="already_active", memory=retired)
    if retired.content is None:
        return Forgotten(outcome="not_active", memory=retired)
    twins = await _twins(connection, scope, author, retired)
    locked = await locks.lock(connection, scope, author, {memory_id, *(twin.memory_id for twin in twins)})
    mine = locked[memory_id]
    if (mine.status, mine.revision) != (retired.status, retired.revision):
        raise races.Raced
    if mine.status is Status.SUPERSEDED and mine.retired_by != "judge":
        return Forgotten(outcome="not_active", memory=retired)
    twins = await _twins(connection, scope, author, retired)
    standing = await locks.standing(connection, scope, twins, locked=locked.keys())
    if standing is not None:
        twin = await rows.read(connection, scope, author, standing.memory_id)
        return Forgotten(outcome="duplicate", memory=twin.memory)
    is_back = await _bring_back(connection, scope, author, mine, reason)
    memory = (await rows.read(connection, scope, author, memory_id)).memory
    return Forgotten(outcome="restored" if is_back else "not_active", memory=memory)


async def _bring_back(
    connection: asyncpg.Connection,
    scope: ProjectScope,
    author: Author,
    retired: locks.Locked,
    reason: str | None,
) -> bool:
    """False, and nothing is written, where it has expired."""
    job = outbox.embed_job(
        project_id=scope.project_id,
        memory_id=retired.memory_id,
        revision=retired.revision + 1,
        traceparent=author.traceparent,
    )
    row = await connection.fetchrow(
        _RESTORE,
        scope.project_id,
        scope.tenant,
        retired.memory_id,
        author.conversation,
        reason,
        author.client,
        author.request_id,
        outbox.encode(job),
    )
    return row is not None


async def _twins(
    connection: asyncpg.Connection, scope: ProjectScope, author: Author, memory: Memory
) -> list[locks.Twin]:
    assert memory.content is not None
    return await locks.twins(
        connection,
        scope,
        scope_key=(author.conversation or "") if memory.scope is Scope.CONVERSATION else "",
        content_hash=content_hash(memory.content),
        besides=memory.memory_id,
    )
