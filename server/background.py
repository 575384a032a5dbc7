"""Work beside the calls of a server: a round that fails is logged, and the next one comes all the same."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from shared import logs
from shared.errors import MemhubError


async def every(seconds: float, work: Callable[[], Awaitable[None]], *, event: str) -> None:
    """Runs `work` after every `seconds`, until cancelled; what it raises is logged as `event`."""
    while True:
        await asyncio.sleep(seconds)
        with surviving(event):
            await work()


@contextmanager
def surviving(event: str, **fields: object) -> Iterator[None]:
    """Logs as `event` whatever is raised inside, a bug too: nobody would look at the task that it ends.

    Where it ends a task of a session's group it takes all calls of the session with it.
    """
    try:
        yield
    except MemhubError as refused:
        logs.event(event, level="WARNING", code=refused.code, **fields)
    except Exception as bug:
        logs.failure(event, bug, **fields)
