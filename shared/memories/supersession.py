"""What a new memory replaces: its targets as they stand, and their retirement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import asyncpg

from shared import statements
from shared.domain import Author, ProjectScope, Status
from shared.errors import InvalidArgument, MemoryNotFound
from shared.memories import idempotency
from shared.memories.locks import Locked

_RETIRE = statements.load("memories")["retire"]


@dataclass(frozen=True, slots=True)
class Obstacle:
    """A supersede target that is not ACTIVE, with what became of it."""

    memory_id: UUID
    status: Status
    superseded_by: UUID | None


def obstacles(
    scope: ProjectScope, targets: tuple[UUID, ...], locked: Mapping[UUID, Locked], *, conversation: str | None
) -> tuple[Obstacle, ...]:
    """Those of the targets that cannot be superseded any more; `conversation` is the one that the new memory is of.

    Raises MemoryNotFound for a target that was not there to be locked, InvalidArgument for a project's memory that a
    conversation's would replace.
    """
    found = [_target(scope, locked, memory_id, conversation) for memory_id in targets]
    return tuple(
        Obstacle(target.memory_id, target.status, target.superseded_by)
        for target in found
        if target.status is not Status.ACTIVE
    )


async def retire(
    connection: asyncpg.Connection, scope: ProjectScope, author: Author, targets: tuple[UUID, ...], *, successor: UUID
) -> datetime | None:
    """Takes locked targets out of the live set, superseded by `successor`, and tells when; None without targets."""
    if not targets:
        return None
    rows = await connection.fetch(
        _RETIRE,
        scope.project_id,
        scope.tenant,
        list(targets),
        successor,
        "client",
        author.client,
        author.request_id,
        idempotency.encode({"superseded_by": str(successor)}),
    )
    at: datetime = rows[0]["at"]
    return at


def _target(scope: ProjectScope, locked: Mapping[UUID, Locked], memory_id: UUID, conversation: str | None) -> Locked:
    if memory_id not in locked:
        raise MemoryNotFound(
            f"supersedes: no memory {memory_id} in project {scope.slug}; nothing was written.",
            next="Take ids from memory_search or memory_history of this project.",
        )
    if conversation is not None and locked[memory_id].conversation is None:
        raise InvalidArgument(
            "supersedes",
            f"{memory_id} belongs to the whole project, which a conversation's memory cannot replace",
            next="Remember it with scope=project, or leave supersedes out.",
        )
    return locked[memory_id]
