"""What a server does beside its calls: wakes the fleet, writes what was counted, keeps the embedded worker alive."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import anyio.to_thread

from server import background
from shared import logs
from shared.counters import CounterBuffer, Flushes
from shared.database import Database
from shared.fleet import ensure_worker
from shared.outbox import Waker
from shared.settings import Settings

_Result = TypeVar("_Result")

_NOT_FLUSHED = "counters_not_flushed"


class Upkeep:
    """Lives as long as the opened database of a server; nothing here delays a call."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self.counters = CounterBuffer()
        self.waker = Waker(lambda: database.connection("read"))
        self._written = 0
        self._failed = 0
        self._database = database
        self._settings = settings
        self._tasks: set[asyncio.Task[Any]] = set()
        self._ensuring: asyncio.Task[None] | None = None
        self._reviving: asyncio.Task[None] | None = None

    def flushes(self) -> Flushes:
        return Flushes(written=self._written, failed=self._failed, missed=self.counters.missed)

    def start(self) -> None:
        """Begins to flush, and looks for a worker."""
        self.spawn(background.every(self._settings.stats_flush_s, self._flush, event=_NOT_FLUSHED))
        self.ensure_worker()

    def ensure_worker(self) -> None:
        """Starts the embedded fleet where none is alive; called again whenever an embedding was missed."""
        if self._ensuring is None or self._ensuring.done():
            self._ensuring = self.spawn(self._ensure_worker())

    def revive(self) -> None:
        """Starts the embedded database again where it was killed together with the worker that looks after it."""
        if self._settings.database_url is None and (self._reviving is None or self._reviving.done()):
            self._reviving = self.spawn(self._revive())

    async def aclose(self) -> None:
        """Writes what was counted and ends."""
        for task in self._tasks:
            task.cancel()
        await self.waker.aclose()
        await self._flush()

    def spawn(self, work: Coroutine[Any, Any, _Result]) -> asyncio.Task[_Result]:
        """Begins what outlives its caller and is cancelled at the end; the event loop keeps no task alive by itself."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _ensure_worker(self) -> None:
        if self._is_gone():
            return
        with background.surviving("worker_not_started"):
            if await anyio.to_thread.run_sync(ensure_worker, self._settings.data_dir, self._settings):
                logs.event("worker_started")

    async def _revive(self) -> None:
        from shared.embedded import ensure_running  # noqa: PLC0415 - only a process with an embedded database pays for it

        if self._is_gone():
            return
        with background.surviving("database_not_revived"):
            await anyio.to_thread.run_sync(ensure_running, self._settings.data_dir)
            logs.event("database_revived")
        self.ensure_worker()

    def _is_gone(self) -> bool:
        """Whether the embedded database that was opened was deleted since: no other is made in its place unasked."""
        if self._settings.database_url is not None:
            return False
        from shared.embedded import folder  # noqa: PLC0415 - only a process with an embedded database pays for it

        gone = not folder.locate(self._settings.data_dir).is_made
        if gone:
            logs.event("database_gone", level="ERROR")
        return gone

    async def _flush(self) -> None:
        if not len(self.counters):
            return
        with background.surviving(_NOT_FLUSHED):
            try:
                async with self._database.connection("write") as connection:
                    await self.counters.flush(connection)
            except Exception:
                self._failed += 1
                raise
            self._written += 1
