"""One HTTP server process, from the bound port to a clean end.

A signal arrives -> no new connections -> streams end, those of the newer era with their result -> calls in flight
finish, within a bound -> sessions close, cancelling what is left but writes -> the backend closes -> the process exits.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, cast

import uvicorn
from starlette.types import ASGIApp

from server.application import Application
from server.backend import Backend
from server.gateway import Gateway
from server.http import app
from server.http.caller import identify
from server.http.connections import ACCEPTS_MAX, Connection, Connections, bound, tell_failed_accepts
from server.http.credentials import Credentials
from server.http.origin import is_loopback
from server.opening import is_being_made
from shared import logs, tracing
from shared.errors import ConfigurationError
from shared.settings import Settings

DRAIN_S = 5
STOP_S = 9.0
"""Above all bounded steps of a stop: an orchestrator kills after ten seconds."""

_KEEP_ALIVE_S = 75
_BACKLOG = 2_048
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def run(
    settings: Settings,
    *,
    host: str,
    port: int,
    opener: Callable[[], Awaitable[Backend]],
    kind: type[Application] = Application,
) -> None:
    """Serve until a signal and end the process. Raises ConfigurationError before the port is bound."""
    gateway = Gateway(opener=opener, is_being_made=partial(is_being_made, settings))
    application = kind(gateway=gateway, identify=identify)
    doors = app.doors(settings, gateway)
    sessions = app.sessions(settings, application)
    asgi = app.build(settings, bound=host, gateway=gateway, application=application, sessions=sessions, doors=doors)
    connections = Connections(
        maximum=bound(pool=settings.pool_connections_max),
        head_s=settings.http_request_head_timeout_s,
        stall_s=settings.http_stall_timeout_s,
    )
    listener = _bind(host, port)
    server = _Server(
        asgi,
        listener,
        streams=(application.subscriptions.close_streams, sessions.close_streams),
        credentials=doors.credentials,
        host=host,
        connections=connections,
    )
    try:
        asyncio.run(server.serve([listener]))
    except BaseException as bug:
        logs.failure("crashed", bug)
        os._exit(1)
    tracing.flush()
    # Here: a thread in a call that nothing can interrupt must not hold the process.
    os._exit(0)


class _Server(uvicorn.Server):
    def __init__(
        self,
        asgi: ASGIApp,
        listener: socket.socket,
        *,
        streams: Sequence[Callable[[], None]],
        credentials: Credentials,
        host: str,
        connections: Connections,
    ) -> None:
        super().__init__(
            uvicorn.Config(
                asgi,
                http=cast(Any, partial(Connection, connections)),
                ws="none",
                lifespan="on",
                backlog=ACCEPTS_MAX,
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=_KEEP_ALIVE_S,
                timeout_graceful_shutdown=DRAIN_S,
            )
        )
        self._listener = listener
        self._streams = streams
        self._credentials = credentials
        self._host = host

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        tell_failed_accepts(asyncio.get_running_loop())
        await super().startup(sockets)
        # asyncio has one number for how many it accepts at once and how many the system keeps for it meanwhile.
        self._listener.listen(_BACKLOG)
        port = self._listener.getsockname()[1]
        logs.event("http_listening", host=self._host, port=port, path=app.MCP_PATH, auth=self._credentials.mode)
        if self._credentials.is_open:
            _tell_open(self._host)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        logs.event("http_stopping")
        last = threading.Timer(STOP_S, os._exit, (0,))
        last.daemon = True
        last.start()
        # uvicorn waits for open responses, and these would never end by themselves.
        for close in self._streams:
            close()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Unlike uvicorn's, this never raises the signal again: a stop that was asked for exits with 0.

        A function and no method of this class: sse_starlette replaces uvicorn's, and looks for a server behind a
        bound one, to cut every stream short before `shutdown` can end it.
        """

        def stop(number: int, _frame: object) -> None:
            self.force_exit |= self.should_exit and number == signal.SIGINT
            self.should_exit = True

        for number in _SIGNALS:
            signal.signal(number, stop)
        yield


def _bind(host: str, port: int) -> socket.socket:
    with ExitStack() as undone:
        try:
            family, kind, _protocol, _name, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            # With its protocol named, asyncio switches Nagle's algorithm off: headers and body are two writes, and an
            # answer waited 44 ms for the client's delayed acknowledgement.
            listener = undone.enter_context(socket.socket(family, kind, socket.IPPROTO_TCP))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(_BACKLOG)
        except (OSError, UnicodeError) as failure:
            # A UnicodeError is a name that is no host name: a..b, or a label of 64 characters.
            raise ConfigurationError(
                f"Port {port} of {host} cannot be bound: {getattr(failure, 'strerror', None) or failure}.",
                next="Choose another with --host and --port, or end the process that has it.",
            ) from None
        undone.pop_all()
        return listener


def _tell_open(host: str) -> None:
    reach = "this machine only" if is_loopback(host) else "EVERY machine that can reach this address"
    logs.event(
        "http_without_key",
        level="WARNING",
        message=f"No key is configured: as long as no token was made, {reach} may read and write every tenant. "
        "Set MEMHUB_API_KEY, or run `memhub token create`.",
    )
