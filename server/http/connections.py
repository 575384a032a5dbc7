"""The TCP connections of a server: how many there may be, and how long one may stay without a request.

A file descriptor is the scarce good: who has none left can neither accept nor reach its database.
"""

from __future__ import annotations

import asyncio
import resource
import time
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from shared import logs

ACCEPTS_MAX = 16
"""So many are accepted at once, before the first of them can be refused."""

_OWN_FILES = 32
_UNSEEN = 4 * ACCEPTS_MAX
"""An accepted socket comes to its protocol two turns of the loop later, and a closed one ends a turn after that."""

_TELL_EVERY_S = 10.0
_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 2\r\nConnection: close\r\n"
    b"Content-Type: text/plain; charset=utf-8\r\nContent-Length: 21\r\n\r\nToo many connections."
)


def bound(*, pool: int) -> int:
    """How many connections leave files enough for all else, once this process may open as many as the system lets."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        soft = hard
    except (OSError, ValueError) as failure:
        logs.event("file_limit_not_raised", level="WARNING", error=type(failure).__qualname__, files=soft)
    if soft == resource.RLIM_INFINITY:
        return 1_000_000
    return max(soft - _OWN_FILES - _UNSEEN - pool, soft // 4, 1)


class Connections:
    """All that are open. Of too many, the one that waits longest without a request goes; if none waits, the new one."""

    def __init__(self, *, maximum: int, head_s: float) -> None:
        self.head_s = head_s
        self._maximum = maximum
        self._open: set[Connection] = set()
        self._waiting: dict[Connection, None] = {}
        self._dropped = Told("http_connections_full")

    def admit(self, connection: Connection) -> bool:
        if len(self._open) >= self._maximum:
            self._dropped.tell(connections=self._maximum)
            oldest = next(iter(self._waiting), None)
            if oldest is None:
                return False
            self.forget(oldest)
            oldest.transport.abort()
        self._open.add(connection)
        return True

    def wait(self, connection: Connection) -> None:
        """It has no request now; a place once taken in the row is kept."""
        if connection in self._open:
            self._waiting.setdefault(connection)

    def work(self, connection: Connection) -> None:
        self._waiting.pop(connection, None)

    def forget(self, connection: Connection) -> None:
        self._open.discard(connection)
        self._waiting.pop(connection, None)


class Connection(H11Protocol):
    """uvicorn's, with a deadline for the head of every request: its own begins with the first answer and ends with the
    next byte."""

    def __init__(
        self,
        connections: Connections,
        *,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._all = connections
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if not self._all.admit(self):
            transport.write(_FULL)
            transport.close()
            return
        self._await_head()

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        super().data_received(data)
        if not self._has_request():
            self._await_head()

    def handle_events(self) -> None:
        super().handle_events()
        if self._has_request():
            self._all.work(self)
            self._cancel()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self._has_request():
            self._all.wait(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel()
        self._all.forget(self)
        super().connection_lost(exc)

    def _has_request(self) -> bool:
        return bool(self.cycle) and not self.cycle.response_complete

    def _await_head(self) -> None:
        self._all.wait(self)
        if self._deadline is None:
            self._deadline = self.loop.call_later(self._all.head_s, self.transport.abort)

    def _cancel(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class Told:
    """One event, written now and then however often it happens."""

    def __init__(self, event: str) -> None:
        self._event = event
        self._next_s = 0.0
        self._times = 0

    def tell(self, **fields: object) -> None:
        self._times += 1
        if time.monotonic() >= self._next_s:
            logs.event(self._event, level="WARNING", times=self._times, **fields)
            self._next_s = time.monotonic() + _TELL_EVERY_S
            self._times = 0


def tell_failed_accepts(loop: asyncio.AbstractEventLoop) -> None:
    """asyncio tells of each of the thousands a second, while no file is left."""
    failed = Told("http_accept_failed")

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if str(context.get("message", "")).startswith("socket.accept()"):
            failed.tell(error=type(context.get("exception")).__qualname__)
        else:
            loop.default_exception_handler(context)

    loop.set_exception_handler(handle)
