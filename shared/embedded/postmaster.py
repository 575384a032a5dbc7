"""The server process of a cluster: found by its pid file only to signal it, never to call it alive."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from shared.embedded.account import Account
from shared.embedded.sockets import PORT

EMPTY_S_MAX = 10.0

PID_FILE = "postmaster.pid"
SOCKET_LOCK = f".s.PGSQL.{PORT}.lock"


def find(cluster: Path, account: Account | None) -> int | None:
    """The pid of the living server of this cluster.

    None for what the pid file also names after a crash: no process, a zombie that its parent never reaped,
    or a stranger that was given the number since.
    """
    pid = _noted(cluster / PID_FILE)
    return pid if pid is not None and _serves(pid, cluster, account) else None


def forget_if_dead(cluster: Path, account: Account | None) -> None:
    """Remove the lock files of a server that is gone; PostgreSQL would take a zombie or a stranger for it.

    The caller holds the lock. Sessions that outlive their server are still found by PostgreSQL through the
    shared memory block, whose key comes from the folder and not from these files.
    """
    for file in (cluster / PID_FILE, cluster / SOCKET_LOCK):
        pid = _noted(file)
        dead = _is_remnant(file) if pid is None else not _serves(pid, cluster, account)
        if dead:
            file.unlink(missing_ok=True)


def ask_to_stop(cluster: Path, account: Account | None) -> None:
    """Ask for a fast shutdown: sessions are ended, their transactions rolled back."""
    pid = find(cluster, account)
    if pid is not None:
        try:
            os.kill(pid, signal.SIGINT)
        except ProcessLookupError:
            return


def _serves(pid: int, cluster: Path, account: Account | None) -> bool:
    import psutil  # noqa: PLC0415 (half the import time of this package, and only a start or stop needs it)

    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        owner = os.geteuid() if account is None else account.uid
        return process.uids().real == owner and os.path.samefile(process.cwd(), cluster)
    except (psutil.Error, OSError):
        return False


def _is_remnant(file: Path) -> bool:
    """An empty file, and too old to belong to a server that is just starting."""
    return file.exists() and time.time() - file.stat().st_mtime > EMPTY_S_MAX


def _noted(file: Path) -> int | None:
    try:
        first = file.read_text(errors="replace").split("\n", 1)[0].strip()
    except FileNotFoundError:
        return None
    return int(first) if first.isdecimal() else None
