"""The data folder: what lies in it, whose it must be, and what its failures are called."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from shared.errors import BackendUnavailable, ConfigurationError

NEW_S = 120.0
"""From the first file of a database over its first start to its last migration, on the busiest machine."""

ELSEWHERE = "set MEMHUB_DATA_DIR to a folder of your own, or set MEMHUB_DATABASE_URL"


@dataclass(frozen=True)
class Layout:
    """The names inside one data folder; `root` is absolute and free of symbolic links."""

    root: Path

    @property
    def cluster(self) -> Path:
        """PostgreSQL's own folder, mode 0700, of the user that it runs as; its socket lies inside."""
        return self.root / "postgres"

    @property
    def is_made(self) -> bool:
        """Whether there is a database; looking makes none. Raises ConfigurationError where this user may not look."""
        with naming(self.root):
            return (self.cluster / "PG_VERSION").exists()

    @property
    def is_new(self) -> bool:
        """Whether there is no database, or one made so lately that its first start may last; looking makes none.

        By the one file that is written as it is made, and never after. Raises as `is_made` does.
        """
        with naming(self.root):
            try:
                made_s = (self.cluster / "PG_VERSION").stat().st_mtime
            except FileNotFoundError:
                return True
            return time.time() - made_s < NEW_S

    @property
    def lock(self) -> Path:
        return self.root / "lock"

    @property
    def leases(self) -> Path:
        return self.root / "leases"

    @property
    def log(self) -> Path:
        return self.root / "postgres.log"


def identity(cluster: Path) -> tuple[int, int] | None:
    """What tells this folder from another that is made in its place: 2 µs. None where there is none.

    Its sessions keep the folder's inode from being given away.
    """
    try:
        status = os.stat(cluster)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def locate(data_dir: Path) -> Layout:
    """The layout of a folder that need not exist; touches nothing."""
    return Layout(data_dir.resolve())


def claim(data_dir: Path) -> Layout:
    """The layout of a folder that exists and is this user's own; makes it (0700) when it is missing.

    Never changes the mode of a folder that was there. Raises ConfigurationError naming the folder.
    """
    with naming(data_dir):
        layout = locate(data_dir)
        layout.root.parent.mkdir(parents=True, exist_ok=True)
        layout.root.mkdir(mode=0o700, exist_ok=True)
        _require_own(layout.root)
    return layout


def _require_own(root: Path) -> None:
    status = root.stat()
    if status.st_uid != os.geteuid():
        raise ConfigurationError(
            f"The data folder {root} belongs to user id {status.st_uid}, not to user id {os.geteuid()}.",
            next=f"Run as its owner, or {ELSEWHERE}.",
        )
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise ConfigurationError(
            f"The data folder {root} can be written by other users.",
            next=f"Run `chmod go-w {root}`, or {ELSEWHERE}.",
        )
    if not os.access(root, os.R_OK | os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "no permission to write in it", str(root))


@contextmanager
def naming(folder: Path) -> Iterator[None]:
    """Turn an OSError inside into one line that names the folder and what to do."""
    try:
        yield
    except OSError as failure:
        raise translated(folder, failure) from failure


def translated(folder: Path, failure: OSError) -> BackendUnavailable | ConfigurationError:
    """What the system's refusal means for the user."""
    reason = failure.strerror or type(failure).__name__
    where = "" if failure.filename in (None, str(folder)) else f" at {failure.filename}"
    if failure.errno in (errno.ENOSPC, errno.EDQUOT):
        return disk_full(folder)
    message = f"The data folder {folder} cannot be used: {reason}{where}."
    if failure.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST):
        return ConfigurationError(message, next=f"Make it writable for this user, or {ELSEWHERE}.")
    return BackendUnavailable(message, next="Mend what the message names, then call again.")


def disk_full(folder: Path) -> BackendUnavailable:
    return BackendUnavailable(
        f"The disk of the data folder {folder} is full.", next="Free space on that disk, then call again."
    )
