"""One client over stdio, from the first byte to a clean end.

Input ends, a signal arrives or the parent dies -> no new calls -> calls in flight finish, within a bound
-> the session closes, cancelling what is left but writes -> the backend closes -> the process exits.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import (
    INTERNAL_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)
from pydantic_core import PydanticSerializationError

from server import caller
from server.application import Application
from server.backend import Backend
from server.gateway import Gateway
from server.messages import Lines, Oversized, decode
from server.opening import is_being_made
from server.record import Unmetered
from server.timing import Timed
from server.wire import Wire
from shared import logs, tracing, workspace
from shared.settings import Settings

DRAIN_S = 5.0
DRAIN_SIGNALLED_S = 1.0
"""Clients send SIGTERM two seconds after they close stdin, and SIGKILL two seconds later."""

CLOSE_S = 2.0
PARENT_CHECK_S = 1.0
OPEN_DELAY_S = 1.0
"""The database opens when the tools were listed, or after this: its imports would slow the handshake down."""

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_LONG_LIVED = frozenset({"subscriptions/listen"})

Incoming = SessionMessage | Exception


def run(settings: Settings, *, wire: Wire, opener: Callable[[], Awaitable[Backend]]) -> None:
    """Serve one client and end the process."""
    gateway = Gateway(opener=opener, is_being_made=partial(is_being_made, settings))
    application = Application(gateway=gateway, identify=caller.of_stdio(settings, aliases=workspace.aliases_here))
    application.meter = timed = Timed(Unmetered(), gateway, flush_s=settings.stats_flush_s)
    try:
        anyio.run(_serve, wire, gateway, application, timed)
    except BaseException as bug:
        logs.failure("crashed", bug)
        os._exit(1)


async def _serve(wire: Wire, gateway: Gateway, application: Application, timed: Timed) -> None:
    await _Session(wire=wire, gateway=gateway).serve(application, timed)
    await anyio.to_thread.run_sync(tracing.flush)
    # Here, not after the loop has closed: it would wait for a thread in a read that nothing can interrupt.
    os._exit(0)


class _Session:
    def __init__(self, *, wire: Wire, gateway: Gateway) -> None:
        self._wire = wire
        self._gateway = gateway
        self._parent = os.getppid()
        self._stopping = anyio.Event()
        self._listed = anyio.Event()
        self._answered = anyio.Event()
        self._in_flight: set[str | int] = set()
        self._drain = anyio.CancelScope()
        self._signalled = False
        self._broken = False

    async def serve(self, application: Application, timed: Timed) -> None:
        server = application.server()
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(_lost)
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._interrupted)
        incoming, to_server = _stream(Incoming)
        from_server, outgoing = _stream(SessionMessage)
        async with anyio.create_task_group() as writing:
            writing.start_soon(self._write, from_server)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._read, to_server.clone(), outgoing.clone())
                tasks.start_soon(self._watch_parent)
                tasks.start_soon(self._open)
                tasks.start_soon(timed.run)
                tasks.start_soon(self._end_input, to_server)
                await server.run(incoming, outgoing, server.create_initialization_options())
                tasks.cancel_scope.cancel()
            # The writer ends by itself once all who send to it have closed: a line on its way is never cut.
        with anyio.move_on_after(CLOSE_S):
            await application.aclose()
            await timed.flush()
            await self._gateway.aclose()

    def _interrupted(self) -> None:
        if self._signalled:
            os._exit(1)
        self._signalled = True
        self._drain.deadline = anyio.current_time() + DRAIN_SIGNALLED_S
        self._stop()

    def _stop(self) -> None:
        limit_s = (DRAIN_SIGNALLED_S if self._signalled else DRAIN_S) + 2 * CLOSE_S
        last = threading.Timer(limit_s, os._exit, (0,))
        last.daemon = True
        last.start()
        self._stopping.set()

    async def _end_input(self, to_server: MemoryObjectSendStream[Incoming]) -> None:
        """Closes the session when it is to end and nothing is in flight any more."""
        async with to_server:
            await self._stopping.wait()
            if not self._signalled:
                self._drain.deadline = anyio.current_time() + DRAIN_S
            with self._drain:
                while self._in_flight:
                    self._answered = anyio.Event()
                    await self._answered.wait()

    async def _read(
        self, to_server: MemoryObjectSendStream[Incoming], replies: MemoryObjectSendStream[SessionMessage]
    ) -> None:
        async with to_server, replies:
            with anyio.CancelScope() as scope:

                async def accept(lines: list[bytes | Oversized]) -> None:
                    for line in lines:
                        await self._accept(line, to_server, replies)

                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._cancel_when_stopping, scope)
                    await anyio.to_thread.run_sync(self._pump, accept, abandon_on_cancel=True)
                    self._stop()

    async def _cancel_when_stopping(self, scope: anyio.CancelScope) -> None:
        await self._stopping.wait()
        scope.cancel()

    def _pump(self, accept: Callable[[list[bytes | Oversized]], Coroutine[Any, Any, None]]) -> None:
        lines = Lines()
        while chunk := self._wire.read():
            if complete := lines.feed(chunk):
                anyio.from_thread.run(accept, complete)
        if rest := lines.close():
            anyio.from_thread.run(accept, rest)

    async def _accept(
        self,
        line: bytes | Oversized,
        to_server: MemoryObjectSendStream[Incoming],
        replies: MemoryObjectSendStream[SessionMessage],
    ) -> None:
        message, reply = decode(line)
        if reply is not None:
            logs.event("message_refused", level="WARNING", code=reply.error.code)
            await replies.send(SessionMessage(reply))
        if message is not None:
            self._track(message)
            await to_server.send(SessionMessage(message))

    def _track(self, message: JSONRPCMessage) -> None:
        if isinstance(message, JSONRPCRequest) and message.method not in _LONG_LIVED:
            self._in_flight.add(message.id)
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self._settle((message.params or {}).get("requestId"))

    async def _write(self, from_server: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async with from_server:
            async for item in from_server:
                if not self._broken and not await anyio.to_thread.run_sync(
                    self._wire.write, _encoded(item.message), abandon_on_cancel=True
                ):
                    self._broken = True
                    self._stop()
                if isinstance(item.message, JSONRPCResponse | JSONRPCError):
                    self._settle(item.message.id)
                if isinstance(item.message, JSONRPCResponse) and "tools" in item.message.result:
                    self._listed.set()

    def _settle(self, request_id: object) -> None:
        if isinstance(request_id, str | int):
            self._in_flight.discard(request_id)
            self._answered.set()

    async def _watch_parent(self) -> None:
        """A sibling may hold our stdin open when the client was killed: then there is no end of input."""
        while os.getppid() == self._parent:  # noqa: ASYNC110
            await anyio.sleep(PARENT_CHECK_S)
        logs.event("parent_gone")
        self._interrupted()

    async def _open(self) -> None:
        with anyio.move_on_after(OPEN_DELAY_S):
            await self._listed.wait()
        self._gateway.begin()


def _stream(kind: Any) -> tuple[Any, Any]:
    send, receive = anyio.create_memory_object_stream[kind](0)
    return receive, send


def _encoded(message: JSONRPCMessage) -> bytes:
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
    except (PydanticSerializationError, UnicodeEncodeError) as bug:
        logs.failure("answer_not_serializable", bug)
        error = ErrorData(code=INTERNAL_ERROR, message="The answer could not be written as JSON.")
        return _encoded(JSONRPCError(jsonrpc="2.0", id=getattr(message, "id", None), error=error))


def _lost(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    if isinstance(error := context.get("exception"), BaseException):
        logs.failure("task_failed", error)
