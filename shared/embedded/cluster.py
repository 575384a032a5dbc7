"""Starts, finds and stops the one PostgreSQL server of a data folder.

Liveness is an answer at the socket. Starting and stopping happen under an exclusive lock in the folder;
stopping for idleness also takes the leases alone, and whoever attaches takes a lease first: it either keeps
the running server or waits for the stop to end and starts a new one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from shared.embedded import folder, leases, locks, logfile, making, postmaster, sockets
from shared.embedded.account import runtime_account
from shared.embedded.binaries import install_for
from shared.embedded.folder import Layout
from shared.embedded.locks import POLL_S, Deadline
from shared.embedded.ping import State, ping
from shared.embedded.programs import Programs
from shared.errors import BackendUnavailable, ConfigurationError

# Crash recovery replays at most max_wal_size; ten seconds were seen to be too few.
START_TIMEOUT_S = 60.0
LAUNCH_TIMEOUT_S = 10.0
STOP_TIMEOUT_S = 60.0
ROOM_BYTES_MIN = 64 * 1024

# A server that was killed leaves sessions that notice a moment later; another may be just starting.
_PASSING = (
    "is still in use",
    'lock file "postmaster.pid" already exists',
    'lock file "postmaster.pid" is empty',
)


@dataclass(frozen=True)
class Cluster:
    """A running embedded database; `dsn` works for asyncpg and psycopg."""

    data_dir: Path
    socket_dir: Path
    dsn: str


@contextmanager
def attach(data_dir: Path, *, timeout_s: float = START_TIMEOUT_S) -> Iterator[Cluster]:
    """A running cluster that no idle stop takes away inside the block."""
    with leases.hold_lease(data_dir):
        yield ensure_running(data_dir, timeout_s=timeout_s)


def ensure_running(data_dir: Path, *, timeout_s: float = START_TIMEOUT_S) -> Cluster:
    """Find the server of the folder, or make the database and start it.

    Who may not be stopped for idleness holds a lease before calling this. Blocks up to the timeout, then
    BackendUnavailable; ConfigurationError when the folder cannot be used.
    """
    layout = folder.claim(data_dir)
    deadline = Deadline.after(timeout_s)
    with folder.naming(layout.root):
        cluster = _described(layout)
        while (state := _state(cluster)) is not State.READY:
            _refuse(state, layout)
            held = locks.try_exclusive(layout.lock)
            if held is not None:
                try:
                    _start(layout, cluster, deadline)
                finally:
                    os.close(held)
                break
            _pause(deadline, layout)
        _bound_log(layout)
    return cluster


def is_running(data_dir: Path) -> bool:
    """True when the server answers."""
    layout = folder.locate(data_dir)
    with folder.naming(layout.root):
        return _state(_described(layout)) is State.READY


def stop(data_dir: Path, *, timeout_s: float = STOP_TIMEOUT_S) -> None:
    """Stop the server, whoever uses it; returns when it is down. No error when none runs."""
    layout = folder.locate(data_dir)
    if not layout.cluster.exists():
        return
    with folder.naming(layout.root), locks.exclusive(layout.lock, timeout_s=timeout_s):
        _stop(layout, Deadline.after(timeout_s))


def stop_if_idle(data_dir: Path, *, timeout_s: float = STOP_TIMEOUT_S) -> bool:
    """Stop the server unless a lease is held; true when it is down and was not in use."""
    layout = folder.locate(data_dir)
    if not layout.cluster.exists():
        return True
    with folder.naming(layout.root), locks.exclusive(layout.lock, timeout_s=timeout_s):
        held = locks.try_exclusive(layout.leases)
        if held is None:
            return False
        try:
            _stop(layout, Deadline.after(timeout_s))
        finally:
            os.close(held)
    return True


def _described(layout: Layout) -> Cluster:
    socket_dir = sockets.client_folder(layout.cluster)
    host = quote(str(socket_dir), safe="/")
    dsn = f"postgresql://{making.ROLE}@/{making.DATABASE}?host={host}&port={sockets.PORT}"
    return Cluster(data_dir=layout.root, socket_dir=socket_dir, dsn=dsn)


def _state(cluster: Cluster) -> State:
    return ping(sockets.socket_path(cluster.socket_dir), user=making.ROLE, database=making.DATABASE)


def _start(layout: Layout, cluster: Cluster, deadline: Deadline) -> None:
    account = runtime_account()
    programs = Programs(install=install_for(account), account=account)
    while (state := _state(cluster)) is not State.READY:
        _refuse(state, layout)
        if state is State.DOWN and postmaster.find(layout.cluster, account) is None:
            _launch(layout, programs, deadline)
        _pause(deadline, layout)


def _launch(layout: Layout, programs: Programs, deadline: Deadline) -> None:
    try:
        making.prepare(layout, programs)
    except subprocess.SubprocessError as failure:
        raise BackendUnavailable(
            f"The database could not be made in {layout.root}: {failure}.", next="Call again."
        ) from failure
    postmaster.forget_if_dead(layout.cluster, programs.account)
    if logfile.is_overgrown(layout.log):
        logfile.rotate(layout.log)
    begin = layout.log.stat().st_size if layout.log.exists() else 0
    if not programs.start(layout.cluster, log=layout.log, timeout_s=min(deadline.left_s(), LAUNCH_TIMEOUT_S)):
        _explain(layout, logfile.written_since(layout.log, begin))


def _explain(layout: Layout, written: str) -> None:
    """Raise what the failed start's log says, or return when another attempt may do."""
    if _is_full(layout):
        raise folder.disk_full(layout.root)
    if "server did not start in time" in written:
        return
    fatal = [line for line in written.splitlines() if _tells_why(line)]
    if any(passing in line for line in fatal for passing in _PASSING):
        return
    reason = fatal[-1] if fatal else ""
    if "No space left on device" in written:
        raise folder.disk_full(layout.root)
    if "Permission denied" in reason:
        raise ConfigurationError(
            f"PostgreSQL cannot use {layout.root}: {_bare(reason)}.",
            next=f"Give the folder's files back to their owner, or {folder.ELSEWHERE}.",
        )
    raise BackendUnavailable(
        f"PostgreSQL did not start in {layout.root}: {_bare(reason) or 'it gave no reason'}.",
        next=f"Read {layout.log}; the data was left untouched.",
    )


def _tells_why(line: str) -> bool:
    # Sessions write here too: those that came too early, and those that a killed server left behind.
    of_a_session = "the database system is" in line or "terminating connection" in line
    return ("FATAL:" in line or "PANIC:" in line) and not of_a_session


def _bare(line: str) -> str:
    return line.partition("FATAL:")[2].strip() or line.partition("PANIC:")[2].strip()


def _stop(layout: Layout, deadline: Deadline) -> None:
    account = runtime_account()
    postmaster.ask_to_stop(layout.cluster, account)
    while postmaster.find(layout.cluster, account) is not None:
        if deadline.passed():
            raise BackendUnavailable(
                f"PostgreSQL in {layout.root} did not stop in time.",
                next=f"Read {layout.log}, then call again.",
            )
        time.sleep(POLL_S)


def _refuse(state: State, layout: Layout) -> None:
    """For what no waiting mends: without room PostgreSQL recovers again and again, and never takes a session."""
    if state is State.DISK_FULL or (state is State.BUSY and _is_full(layout)):
        raise folder.disk_full(layout.root)
    if state is State.FOREIGN:
        raise ConfigurationError(
            f"The server in {layout.root} refuses this user or has no database {making.DATABASE}.",
            next=f"Run as the user who started it, or {folder.ELSEWHERE}.",
        )


def _is_full(layout: Layout) -> bool:
    return shutil.disk_usage(layout.root).free < ROOM_BYTES_MIN


def _pause(deadline: Deadline, layout: Layout) -> None:
    if deadline.passed():
        raise BackendUnavailable(
            f"The database in {layout.root} is still starting or recovering.",
            next=f"Wait and call again; {layout.log} shows its progress.",
        )
    time.sleep(POLL_S)


def _bound_log(layout: Layout) -> None:
    if logfile.is_overgrown(layout.log):
        held = locks.try_exclusive(layout.lock)
        if held is not None:
            try:
                logfile.rotate(layout.log)
            finally:
                os.close(held)
