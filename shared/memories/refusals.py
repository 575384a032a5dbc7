"""What is refused of a memory, told as errors of the arguments that it concerns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from uuid import UUID

import asyncpg

from shared import statements
from shared.domain import ProjectScope
from shared.errors import InvalidArgument, MemoryNotFound

_CLOCK = statements.load("memories")["clock"]
_TASK_EXPIRES = ("memory_revisions_task_expires", "live_memories_task_expires")


@contextmanager
def task_expiry_told() -> Iterator[None]:
    """Turns the database's refusal of a TASK's expiry, judged by its own clock, into InvalidArgument."""
    try:
        yield
    except asyncpg.CheckViolationError as refused:
        if refused.constraint_name not in _TASK_EXPIRES:
            raise
        raise InvalidArgument(
            "expires_at",
            "a TASK always expires, at most 30 days from now",
            next="Give an instant within 30 days.",
        ) from None


async def refuse_past(connection: asyncpg.Connection, expires_at: datetime | None) -> None:
    """Raises InvalidArgument for an expiry that has passed by the database's clock.

    After the claim of the key: the replay of a request that was in time is told what it was told then.
    """
    if expires_at is None:
        return
    now = await connection.fetchval(_CLOCK)
    if expires_at <= now:
        raise InvalidArgument(
            "expires_at",
            f"must be in the future; it is {now.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ} now",
            next="Send a later instant, or leave expires_at out.",
        )


def not_found(scope: ProjectScope, memory_id: UUID) -> MemoryNotFound:
    """For a memory that is not there, and in the same words for one that this caller may not see."""
    return MemoryNotFound(
        f"memory_id: no memory {memory_id} in project {scope.slug}.",
        next="Take ids from memory_search of this project, or name the memory's project.",
    )
