"""The way from a call to the database: opened behind the handshake, tried again when a call needs it."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Literal

import anyio
import anyio.to_thread

from server.backend import Backend
from shared import logs
from shared.errors import BackendUnavailable, MemhubError

OPEN_WAIT_S = 10.0
"""An embedded database is made and migrated in 1 s, on a busy machine in 4."""

MAKING_WAIT_S = 45.0
"""For a database that is being made: at four processes a core 12 s were seen. Clients give a call 60 s."""

_LOOK_S = 1.0

BACKOFF_FIRST_S = 0.1
BACKOFF_MAX_S = 2.0
"""Under OPEN_WAIT_S, so that a call that finds the database back always lives to see the attempt."""


class Gateway:
    """Holds the opened backend. At most one attempt to open runs at a time, and it outlives its callers."""

    def __init__(
        self,
        *,
        opener: Callable[[], Awaitable[Backend]],
        is_being_made: Callable[[], bool] = lambda: False,
        open_wait_s: float = OPEN_WAIT_S,
        making_wait_s: float = MAKING_WAIT_S,
    ) -> None:
        """`is_being_made` may block: it is asked on a thread, and only where `open_wait_s` was not enough."""
        self._opener = opener
        self._is_being_made = is_being_made
        self._open_wait_s = open_wait_s
        self._making_wait_s = making_wait_s
        self._backend: Backend | None = None
        self._attempt: asyncio.Task[None] | None = None
        self._failure: Exception | None = None
        self._failures = 0

    async def backend(self) -> Backend:
        """The opened backend, waiting `open_wait_s` at most for an attempt under way, more where it makes a database.

        Raises BackendUnavailable when that is not enough, or what the attempt raised.
        """
        if self._backend is not None:
            return self._backend
        attempt = self.begin()
        assert attempt is not None
        state = "starting"
        began_s = time.monotonic()
        await asyncio.wait({attempt}, timeout=self._open_wait_s)
        if not attempt.done() and await self._makes():
            state = "being made"
            waited_s = time.monotonic() - began_s
            await asyncio.wait({attempt}, timeout=max(0, self._making_wait_s - waited_s))
        if self._backend is not None:
            return self._backend
        if attempt.done() and self._failure is not None:
            raise self._failure.with_traceback(None)
        raise BackendUnavailable(
            f"The database is still {state}; nothing was run.", next="Call again in a few seconds."
        )

    @asynccontextmanager
    async def connection(self, work: Literal["read", "write"]) -> AsyncIterator[Any]:
        """A connection of the opened backend; raises what `backend` does, and BackendBusy."""
        async with (await self.backend()).connection(work) as connection:
            yield connection

    def begin(self) -> asyncio.Task[None] | None:
        """The attempt under way, or a new one; None where the backend is open: a second one would never be closed."""
        if self._backend is None and self._attempt is None:
            self._attempt = asyncio.create_task(self._open())
        return self._attempt

    async def aclose(self) -> None:
        if self._attempt is not None:
            self._attempt.cancel()
            await asyncio.wait({self._attempt})
        if self._backend is not None:
            await self._backend.aclose()

    async def _open(self) -> None:
        try:
            await asyncio.sleep(_backoff_s(self._failures))
            self._backend = await self._opener()
            logs.event("database_opened", attempts=self._failures + 1)
        except MemhubError as refused:
            self._failed(refused)
            logs.event("database_unavailable", level="WARNING", code=refused.code, attempts=self._failures)
        except Exception as bug:
            self._failed(bug)
            logs.failure("database_open_failed", bug, attempts=self._failures)
        finally:
            self._attempt = None

    async def _makes(self) -> bool:
        with anyio.move_on_after(_LOOK_S):
            return await anyio.to_thread.run_sync(self._is_being_made, abandon_on_cancel=True)
        return False

    def _failed(self, error: Exception) -> None:
        self._failure = error
        self._failures += 1


def _backoff_s(failures: int) -> float:
    if failures == 0:
        return 0
    return min(BACKOFF_MAX_S, BACKOFF_FIRST_S * 2.0 ** min(failures - 1, 10)) * random.uniform(0.5, 1)  # noqa: S311
