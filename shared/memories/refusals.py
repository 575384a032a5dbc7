"""What the database refuses of a write, told as errors of the arguments that it concerns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg

from shared.errors import InvalidArgument

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
