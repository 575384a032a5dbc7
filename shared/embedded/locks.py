"""File locks that the kernel takes back when their process dies, however it dies."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from shared.errors import BackendUnavailable

POLL_S = 0.01


@dataclass(frozen=True)
class Deadline:
    """A bound on a wait, by the monotonic clock."""

    at: float

    @classmethod
    def after(cls, timeout_s: float) -> Deadline:
        return cls(time.monotonic() + timeout_s)

    def left_s(self) -> float:
        return max(0.0, self.at - time.monotonic())

    def passed(self) -> bool:
        return self.left_s() == 0.0


def try_exclusive(path: Path) -> int | None:
    """A descriptor that holds the file alone, or None while anyone else holds it. The caller closes it."""
    return _try(path, fcntl.LOCK_EX)


@contextmanager
def shared(path: Path, *, timeout_s: float) -> Iterator[None]:
    """Hold the file beside other shared holders. Raises BackendUnavailable after the timeout."""
    with _holding(_wait(path, fcntl.LOCK_SH, Deadline.after(timeout_s))):
        yield


@contextmanager
def exclusive(path: Path, *, timeout_s: float) -> Iterator[None]:
    """Hold the file alone. Raises BackendUnavailable after the timeout."""
    with _holding(_wait(path, fcntl.LOCK_EX, Deadline.after(timeout_s))):
        yield


def _wait(path: Path, kind: int, deadline: Deadline) -> int:
    while (held := _try(path, kind)) is None:
        if deadline.passed():
            raise BackendUnavailable(
                f"Another process kept {path} locked for too long.",
                next="Call again; if it persists, end the process that holds the file (see `fuser`).",
            )
        time.sleep(POLL_S)
    return held


def _try(path: Path, kind: int) -> int | None:
    # Not inherited by PostgreSQL: descriptors of Python are closed on exec, or the lock would outlive us.
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(descriptor), os.stat(path, follow_symlinks=False)):
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


@contextmanager
def _holding(descriptor: int) -> Iterator[None]:
    try:
        yield
    finally:
        os.close(descriptor)
