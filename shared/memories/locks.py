"""The one order in which memories are locked: by project and ascending id, after the idempotency key."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

import asyncpg

from shared import statements
from shared.domain import Author, ProjectScope, Status
from shared.memories import races

_SQL = statements.load("memories")
_LOCK = _SQL["lock"]
_TWINS = _SQL["twins"]
_EXPIRE = _SQL["expire"]


@dataclass(frozen=True, slots=True)
class Locked:
    """The lifecycle of a memory that cannot change before this transaction ends."""

    memory_id: UUID
    status: Status
    revision: int
    conversation: str | None
    retired_by: str | None
    superseded_by: UUID | None


@dataclass(frozen=True, slots=True)
class Twin:
    """A live row with the same content; an expired one gives way."""

    memory_id: UUID
    expired: bool


async def lock(
    connection: asyncpg.Connection, scope: ProjectScope, author: Author, memory_ids: Iterable[UUID]
) -> dict[UUID, Locked]:
    """Locks those that the caller may see, to the end of the transaction; the others are missing in the answer."""
    rows = await connection.fetch(_LOCK, scope.project_id, list(memory_ids), author.conversation)
    return {
        row["id"]: Locked(
            memory_id=row["id"],
            status=Status(row["status"]),
            revision=row["revision_no"],
            conversation=row["conversation"],
            retired_by=row["retired_by"],
            superseded_by=row["superseded_by"],
        )
        for row in rows
    }


async def twins(
    connection: asyncpg.Connection,
    scope: ProjectScope,
    *,
    scope_key: str,
    content_hash: bytes,
    besides: UUID | None = None,
) -> list[Twin]:
    """The live rows, at most two, that say this content already: the project's first, then the conversation's."""
    rows = await connection.fetch(_TWINS, scope.project_id, scope_key, content_hash, besides)
    return [Twin(memory_id=row["memory_id"], expired=row["expired"]) for row in rows]


async def standing(
    connection: asyncpg.Connection, scope: ProjectScope, twins: Sequence[Twin], *, locked: Collection[UUID]
) -> Twin | None:
    """The twin that stands, of those looked up after the lock; expired ones leave the search tables.

    Raises Raced for one that is not locked.
    """
    if any(twin.memory_id not in locked for twin in twins):
        raise races.Raced
    expired = [twin.memory_id for twin in twins if twin.expired]
    if expired:
        await connection.execute(_EXPIRE, [scope.project_id] * len(expired), expired)
    return next((twin for twin in twins if not twin.expired), None)
