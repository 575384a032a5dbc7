"""Leases: who uses the embedded database, by locks that end with their process.

One shared lock of one file per process: the kernel drops it even at kill -9, needs no clean-up, and an
exclusive attempt answers "does anyone hold one" in one call. Sessions in pg_stat_activity would miss a
process whose pool is idle or whose server just restarted; files with pids outlive their process.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from shared.embedded import folder, locks

# Longer than a fast shutdown takes: a stop holds the leases while it runs.
LEASE_WAIT_S = 90.0


@contextmanager
def hold_lease(data_dir: Path, *, timeout_s: float = LEASE_WAIT_S) -> Iterator[None]:
    """Keep the database from being stopped for idleness; take it before `ensure_running`.

    Waits while a stop is under way. Raises BackendUnavailable after the timeout.
    """
    layout = folder.claim(data_dir)
    with ExitStack() as held:
        with folder.naming(data_dir):
            held.enter_context(locks.shared(layout.leases, timeout_s=timeout_s))
        yield


def is_leased(data_dir: Path) -> bool:
    """True while any living process holds a lease."""
    layout = folder.locate(data_dir)
    if not layout.leases.exists():
        return False
    with folder.naming(data_dir):
        held = locks.try_exclusive(layout.leases)
    if held is None:
        return True
    os.close(held)
    return False


class IdleWatch:
    """Measures how long nobody has held a lease, as seen by whoever asks again and again."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._leased_at = time.monotonic()

    def idle_for_s(self) -> float:
        """Seconds since a lease was last seen, counted from the making of the watch; 0 while one is held."""
        now = time.monotonic()
        if is_leased(self._data_dir):
            self._leased_at = now
        return now - self._leased_at
