"""The server process of a cluster: found by its pid file only to signal it, never to call it alive."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from shared.embedded.account import Account


def find(cluster: Path, account: Account | None) -> int | None:
    """The pid of the living server of this cluster.

    None for what the pid file also names after a crash: no process, a zombie that its parent never reaped,
    or a stranger that was given the number since.
    """
    import psutil  # noqa: PLC0415 (half the import time of this package, and only a start or stop needs it)

    owner = os.geteuid() if account is None else account.uid
    pid = _noted(cluster)
    if pid is None:
        return None
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE or process.uids().real != owner:
            return None
        return pid if os.path.samefile(process.cwd(), cluster) else None
    except (psutil.Error, OSError):
        return None


def forget_if_dead(cluster: Path, account: Account | None) -> None:
    """Remove the pid file of a server that is gone; PostgreSQL would take a zombie or a stranger for it.

    The caller holds the lock. Sessions that outlive their server are still found by PostgreSQL through the
    shared memory block, whose key comes from the folder and not from this file.
    """
    if _noted(cluster) is not None and find(cluster, account) is None:
        (cluster / "postmaster.pid").unlink(missing_ok=True)


def ask_to_stop(cluster: Path, account: Account | None) -> None:
    """Ask for a fast shutdown: sessions are ended, their transactions rolled back."""
    pid = find(cluster, account)
    if pid is not None:
        try:
            os.kill(pid, signal.SIGINT)
        except ProcessLookupError:
            return


def _noted(cluster: Path) -> int | None:
    try:
        first = (cluster / "postmaster.pid").read_text(errors="replace").split("\n", 1)[0]
    except FileNotFoundError:
        return None
    return int(first) if first.strip().isdecimal() else None
