"""The TCP connections of a server: how many there may be, and how long one may stay without a request.

A file descriptor is the scarce good: who has none left can neither accept nor reach its database.
"""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Callable
from functools import partial
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from server.http.told import Told
from shared import logs

ACCEPTS_MAX = 16
"""So many are accepted at once, before the first of them can be refused."""

_OWN_FILES = 32
_UNSEEN = 4 * ACCEPTS_MAX
"""An accepted socket comes to its protocol two turns of the loop later, and a closed one ends a turn after that."""

_LATE = (
    b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n"
    b"Content-Type: text/plain; charset=utf-8\r\nContent-Length: 38\r\n\r\nThe body did not come whole in time.\r\n"
)
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

    def __init__(self, *, maximum: int, head_s: float, stall_s: float) -> None:
        self.head_s = head_s
        self.stall_s = stall_s
        self._maximum = maximum
        self._open: set[Connection] = set()
        self._waiting: dict[Connection, None] = {}
        self._dropped = Told("http_connections_full")
        self._stalled = Told("http_stalled")

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

    def give_up(self, connection: Connection, *, waited_for: str) -> None:
        """Ends one whose client neither sends nor takes what it has to."""
        self._stalled.tell(waited_for=waited_for)
        connection.transport.abort()

    def work(self, connection: Connection) -> None:
        self._waiting.pop(connection, None)

    def forget(self, connection: Connection) -> None:
        self._open.discard(connection)
        self._waiting.pop(connection, None)


class Connection(H11Protocol):
    """uvicorn's, with deadlines: for the head of every request, for its body, and for the next bytes of an answer that
    wait to be taken. uvicorn's own begins with the first answer and ends with the next byte."""

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
        self._head, self._body, self._answer = (_Deadline(self.loop) for _ in range(3))

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
        if not self._has_request():
            return
        self._all.work(self)
        self._head.cancel()
        if self.cycle.more_body:
            self._body.begin(self._all.stall_s, self._body_is_late)
        else:
            self._body.cancel()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self._has_request():
            self._body.cancel()
            self._all.wait(self)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._answer.begin(self._all.stall_s, partial(self._all.give_up, self, waited_for="answer"))

    def resume_writing(self) -> None:
        super().resume_writing()
        self._answer.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        for deadline in (self._head, self._body, self._answer):
            deadline.cancel()
        self._all.forget(self)
        super().connection_lost(exc)

    def _has_request(self) -> bool:
        return bool(self.cycle) and not self.cycle.response_complete

    def _await_head(self) -> None:
        self._all.wait(self)
        self._head.begin(self._all.head_s, self.transport.abort)

    def _body_is_late(self) -> None:
        if not self.cycle.response_started:
            self.transport.write(_LATE)
        self._all.give_up(self, waited_for="body")


class _Deadline:
    """One at a time: to begin it again changes nothing until it is cancelled."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._handle: asyncio.TimerHandle | None = None

    def begin(self, seconds: float, missed: Callable[[], None]) -> None:
        if self._handle is None:
            self._handle = self._loop.call_later(seconds, missed)

    def cancel(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None


def tell_failed_accepts(loop: asyncio.AbstractEventLoop) -> None:
    """asyncio tells of each of the thousands a second, while no file is left."""
    failed = Told("http_accept_failed")

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if str(context.get("message", "")).startswith("socket.accept()"):
            failed.tell(error=type(context.get("exception")).__qualname__)
        else:
            loop.default_exception_handler(context)

    loop.set_exception_handler(handle)
