"""Holds the place where the endpoint is served, one worker at a time, and serves it there."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import uvicorn
from starlette.types import ASGIApp

from shared import logs
from shared.errors import ConfigurationError

CLAIM_INTERVAL_S = 0.5
GRACEFUL_STOP_S = 2
CONNECTIONS_MAX = 512
BACKLOG = 128


@dataclass(frozen=True, slots=True)
class Place:
    """A socket file, or a host and port."""

    path: Path | None = None
    host: str = ""
    port: int = 0

    def __str__(self) -> str:
        return str(self.path) if self.path else f"{self.host}:{self.port}"


def require(place: Place) -> None:
    """Returns where a process could serve at this place, also while another one does. Raises ConfigurationError."""
    try:
        with _claimed(place):
            return
    except (OSError, UnicodeError) as failure:
        raise ConfigurationError(
            f"--endpoint {place} cannot be bound: {getattr(failure, 'strerror', None) or failure}.",
            next="Name an address of this machine and a port that this user may bind.",
        ) from None


class Endpoint:
    """Serves an app at a place as soon as no other worker does, until it is told to stop."""

    def __init__(self, app: ASGIApp, *, place: Place, claim_interval_s: float = CLAIM_INTERVAL_S) -> None:
        self.serving = asyncio.Event()
        self.port = place.port
        self._app = app
        self._place = place
        self._claim_interval_s = claim_interval_s

    async def run(self, stop: asyncio.Event) -> None:
        """Waits for the place, serves, and comes back within GRACEFUL_STOP_S or so of `stop`.

        A worker that finds the place taken goes on without an endpoint and looks again every
        `claim_interval_s`: the lock dies with its holder, kill -9 included.
        """
        told = False
        while not stop.is_set():
            with _claimed(self._place) as listener:
                if listener is not None:
                    await self._serve(listener, stop)
                    return
            if not told:
                logs.event("embedding_endpoint_taken", place=str(self._place))
                told = True
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), self._claim_interval_s)

    async def _serve(self, listener: socket.socket, stop: asyncio.Event) -> None:
        if self._place.path is None:
            self.port = listener.getsockname()[1]
        server = _Server(_config(self._app))
        running = asyncio.create_task(server.serve(sockets=[listener]))
        stopping = asyncio.create_task(stop.wait())
        self.serving.set()
        logs.event("embedding_endpoint_serving", place=str(self._place))
        try:
            await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.serving.clear()
            server.should_exit = True
            stopping.cancel()
            await running


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals belong to the worker that we are a part of."""
        yield


def _config(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        limit_concurrency=CONNECTIONS_MAX,
        backlog=BACKLOG,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=GRACEFUL_STOP_S,
    )


@contextmanager
def _claimed(place: Place) -> Iterator[socket.socket | None]:
    """A bound socket that is ours alone, or None while another process has the place."""
    with _claimed_file(place.path) if place.path else _claimed_port(place.host, place.port) as listener:
        yield listener


@contextmanager
def _claimed_file(path: Path) -> Iterator[socket.socket | None]:
    # Through its link a folder that is still to be made cannot be made.
    path.parent.resolve().mkdir(mode=0o700, parents=True, exist_ok=True)
    path.parent.chmod(0o700)
    with path.with_suffix(".lock").open("a") as lock:
        if not _locked(lock):
            yield None
            return
        with _bound_file(path) as listener:
            try:
                yield listener
            finally:
                path.unlink(missing_ok=True)


def _locked(lock: IO[str]) -> bool:
    """Whether the lock became ours; it is held until the file is closed, by us or by our death."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _bound_file(path: Path) -> socket.socket:
    """A socket that listens, then is moved to its path: a stale file is replaced in one step."""
    beside = path.with_suffix(".new")
    beside.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(str(beside))
        beside.chmod(0o600)
        listener.listen(BACKLOG)
        beside.replace(path)
    except OSError:
        listener.close()
        raise
    return listener


@contextmanager
def _claimed_port(host: str, port: int) -> Iterator[socket.socket | None]:
    # With its protocol named, asyncio switches Nagle's algorithm off: otherwise an answer waits 40 ms of a query's 150
    # for the client's delayed acknowledgement.
    with socket.socket(_family(host), socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
            listener.listen()
        except OSError as failed:
            if failed.errno != errno.EADDRINUSE:
                raise
            yield None
            return
        yield listener


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
