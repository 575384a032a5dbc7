"""How an actor's task is scheduled: by the clock, or once more at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from procrastinate import App

from shared import statements
from shared.database import Database
from workers.retry import Backoff

# Upkeep overtakes a backlog of embeddings; the backstop of embeddings does not.
UPKEEP_PRIORITY = 10
BACKSTOP_PRIORITY = -1

_SQL = statements.load("fleet")
_DEFER_ONCE = _SQL["defer_once"]
_IS_OVERDUE = _SQL["is_overdue"]
_WAKE = _SQL["wake"]


def periodic(
    app: App,
    run: Callable[..., Awaitable[None]],
    *,
    name: str,
    queue: str,
    cron: str,
    retry: Backoff,
    priority: int = UPKEEP_PRIORITY,
) -> None:
    """Registers a task that procrastinate defers at each tick, once however many workers there are.

    `run` takes the tick as its argument `timestamp`. In a cron of six fields the seconds come last.
    """
    task: Any = app.task(name=name, queue=queue, retry=retry, priority=priority)(run)
    app.periodic(cron=cron)(task)


async def defer_once(database: Database, name: str, *, queue: str, priority: int = UPKEEP_PRIORITY) -> None:
    """A run of that task as soon as a worker is free, unless one waits already."""
    async with database.connection("write") as connection:
        await connection.execute(_DEFER_ONCE, queue, name, priority)
        await connection.execute(_WAKE, [queue])


async def defer_if_overdue(database: Database, name: str, *, queue: str, period_s: float) -> None:
    """A run of that task when its last good one began longer ago than its period, or when there was none."""
    async with database.connection("read") as connection:
        overdue = await connection.fetchval(_IS_OVERDUE, name, period_s)
    if overdue:
        await defer_once(database, name, queue=queue)
