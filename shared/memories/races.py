"""The bounded retry of a write that met another one between two of its statements."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import asyncpg

from shared.errors import BackendBusy

# Each race is another client's write that went through. Eight clients over eight contents raced three times in a row
# once in 10,000 writes, five times once in 80,000.
RACES_MAX = 10

_Written = TypeVar("_Written")


class Raced(Exception):
    """Another client wrote what this write has read: its transaction is undone and it begins again."""


async def run(attempt: Callable[[int], Awaitable[_Written]]) -> _Written:
    """The first answer of `attempt(0)`, `attempt(1)`, …; each attempt that raises has written nothing.

    A unique violation is a race too: the content or the key was free when it was looked up. Raises BackendBusy after
    RACES_MAX attempts.
    """
    for number in range(RACES_MAX):
        try:
            return await attempt(number)
        except (asyncpg.UniqueViolationError, asyncpg.DeadlockDetectedError, Raced):
            continue
    raise BackendBusy(
        "Other clients kept writing the same memory; nothing was written.", next="Call again in a moment."
    )
