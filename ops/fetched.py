"""What an import brings over from a pipe, a URL or a database before it reads it, and what killed ones left of it."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from ops import files

_PREFIX = "memhub-import-"
# As mkdtemp writes it.
_LEFT = re.compile(rf"{_PREFIX}[a-z0-9_]{{8}}")
_MODE = 0o700
_UNLOCKED_S_MAX = 1.0


@contextmanager
def passing(name: str) -> Iterator[Path]:
    """A file of that name, by which its problems are told, in a folder that is gone afterwards.

    The folder is locked meanwhile, so that `sweep` of another process can tell it from what a killed one left. Raises
    FileRefused.
    """
    sweep()
    with ExitStack() as lock, tempfile.TemporaryDirectory(prefix=_PREFIX) as folder:
        descriptor = os.open(folder, os.O_RDONLY)
        lock.callback(os.close, descriptor)
        with files.naming(Path(folder)):
            files.lock(descriptor, Path(folder))
        yield Path(folder, name)


def sweep() -> None:
    """Removes what killed imports of this user left among the temporary files: it may hold all that was ever said."""
    with suppress(OSError):
        for left in Path(tempfile.gettempdir()).iterdir():
            if _LEFT.fullmatch(left.name):
                _remove_unless_locked(left)


def _remove_unless_locked(left: Path) -> None:
    with suppress(OSError):
        descriptor = os.open(left, os.O_RDONLY | os.O_DIRECTORY)
        try:
            # Asked before the lock, which whoever makes it now would meet.
            if _is_left(os.fstat(descriptor)):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(left)
        finally:
            os.close(descriptor)


def _is_left(status: os.stat_result) -> bool:
    # One of this moment may be not locked yet.
    old = time.time() - status.st_ctime > _UNLOCKED_S_MAX
    return old and status.st_uid == os.geteuid() and stat.S_IMODE(status.st_mode) == _MODE
