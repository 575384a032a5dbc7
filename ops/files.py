"""Files of people: written whole or not at all, and what the system refuses told in one line."""

from __future__ import annotations

import errno
import fcntl
import io
import os
import re
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from shared.errors import MemhubError

_PASSING = ".memhub-passing-"
# As mkstemp writes it: what lies beside under another name of ours, such as a client's backup, is no such file.
_LEFT = re.compile(rf"\..+{re.escape(_PASSING)}[a-z0-9_]{{8}}")
_UNLOCKED_S_MAX = 1.0
_SWEPT_S_MAX = 5.0
_LOOK_S = 0.01
# What flock says on file systems without locks: EBADF is NFS, where a folder or a file open to be read has none.
_LOCKLESS = (errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)
# As it was written once, beside names that people give to copies of their own: chance mixes letters and digits, where
# backup01 and 20260101 do not.
_LEFT_ONCE = re.compile(r"memhub-(?=.*[a-z_]\d+[a-z_]|.*\d[a-z_]+\d)[a-z0-9_]{8}")
_LEFT_ONCE_S_MIN = 86_400
_LEFT_ONCE_MODE = 0o600

FULL = (errno.ENOSPC, errno.EDQUOT)


class FileRefused(MemhubError):
    """A file or folder that cannot be read or written, named."""

    code = "FILE"


def require_free(path: Path, *, force: bool) -> None:
    """Raises FileRefused where something has the name already; with `force` a file may be replaced, and only that."""
    with naming(path):
        if not path.exists():
            return
    if not path.is_file():
        raise FileRefused(f"{path}: it is there, and no file.", next="Name a file.")
    if not force:
        raise FileRefused(
            f"{path}: there is a file already; it was left as it is.",
            next="Name another, or give --force to replace it.",
        )


@contextmanager
def written(path: Path | None) -> Iterator[BinaryIO]:
    """A file that appears under its name when the block ends well, and never else; None is standard output.

    Raises FileRefused.
    """
    if path is None:
        with printing():
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        return
    sweep(path)
    with naming(path), passing(path) as nascent:
        with nascent.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        publish(nascent, path)


@contextmanager
def passing(path: Path) -> Iterator[Path]:
    """A name beside `path`, readable by this user only; what is left under it at the end is removed.

    Locked meanwhile, so that `sweep` of another process can tell it from what a killed one left.
    """
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}{_PASSING}", dir=path.parent)
    try:
        lock(descriptor, Path(name))
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)
        os.close(descriptor)


def lock(descriptor: int, path: Path) -> None:
    """Keeps a sweep of another process off `path`, which is open there, until it is closed. A sweep that has it is
    waited for. Not on every file system: there nothing can be swept either.

    Raises OSError: BlockingIOError where it stays locked, and where it was swept.
    """
    ends = time.monotonic() + _SWEPT_S_MAX
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > ends:
                raise
            time.sleep(_LOOK_S)
        except OSError as failure:
            if failure.errno not in _LOCKLESS:
                raise
            return
        else:
            break
    # What has its name afterwards would have no lock, and be open to others.
    if not path.exists():
        raise OSError(errno.ESTALE, "it was taken for what a killed process left")


def sweep(path: Path) -> None:
    """Removes what killed processes left beside `path` under names of `passing`: whole or half, it may hold all that
    was ever said. Under their former names only what they left of `path` itself a day ago."""
    with suppress(OSError):
        for left in path.parent.iterdir():
            if _LEFT.fullmatch(left.name):
                _remove_unless_locked(left, is_old=_is_passed)
            elif left.name.startswith(f".{path.name}.") and _LEFT_ONCE.fullmatch(left.name, len(path.name) + 2):
                _remove_unless_locked(left, is_old=_is_left_once)


def _remove_unless_locked(left: Path, *, is_old: Callable[[os.stat_result], bool]) -> None:
    with suppress(OSError):
        descriptor = os.open(left, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
        try:
            status = os.fstat(descriptor)
            # Asked before the lock, which whoever makes it now would meet.
            if stat.S_ISREG(status.st_mode) and is_old(status):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                left.unlink()
        finally:
            os.close(descriptor)


def _is_passed(status: os.stat_result) -> bool:
    # One of this moment may be not locked yet.
    return time.time() - status.st_ctime > _UNLOCKED_S_MAX


def _is_left_once(status: os.stat_result) -> bool:
    return (
        time.time() - status.st_ctime > _LEFT_ONCE_S_MIN
        and stat.S_IMODE(status.st_mode) == _LEFT_ONCE_MODE
        and status.st_uid == os.geteuid()
    )


def publish(nascent: Path, path: Path) -> None:
    """Gives the file its name, in a way that survives a power cut."""
    nascent.replace(path)
    sync(path.parent)


def sync(path: Path) -> None:
    """Waits until the disk has the file, or the names of the folder."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class ReaderGone(MemhubError):
    """Whoever read standard output has gone away, as `head` does: no error to tell."""

    code = "READER_GONE"


@contextmanager
def printing() -> Iterator[None]:
    """Turns what is refused of standard output inside into FileRefused, or ReaderGone."""
    try:
        yield
    except BrokenPipeError:
        raise ReaderGone("The reader of standard output went away.", next="Read it to its end.") from None
    except OSError as failure:
        if failure.errno not in FULL:
            raise
        raise FileRefused(
            "Standard output: the disk is full, and what is there is cut off.", next="Free space, then run it again."
        ) from None


class Output(io.TextIOWrapper):
    """Standard output whose refusals are errors of memhub: any other OSError is taken for a lost database."""

    @classmethod
    def of(cls, stream: Any) -> Output:
        """In place of the stream, which can be used no more."""
        encoding, errors, line_buffering = stream.encoding, stream.errors, stream.line_buffering
        return cls(stream.detach(), encoding=encoding, errors=errors, line_buffering=line_buffering)

    def write(self, text: str) -> int:
        with printing():
            return super().write(text)

    def flush(self) -> None:
        with printing():
            super().flush()


def is_regular(path: Path, *, follow: bool) -> bool:
    """Whether it is a file of bytes: what else has a name may never end, or change what reads it. Raises OSError."""
    return stat.S_ISREG(path.stat(follow_symlinks=follow).st_mode)


@contextmanager
def reading(path: Path, *, follow: bool) -> Iterator[BinaryIO]:
    """A file of bytes to read, whatever took its name meanwhile. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW))
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is no file of bytes")
        yield file


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Turns an OSError inside into FileRefused; a reader that went away is no error of ours."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as failure:
        raise refused(path, failure) from None


def refused(path: Path, failure: OSError) -> FileRefused:
    match failure.errno:
        case code if code in FULL:
            return FileRefused(f"{path}: the disk is full; nothing was left there.", next="Free space or name another.")
        case errno.ENOENT:
            missing = next((folder for folder in reversed(path.parents) if not os.path.exists(folder)), None)
            told = "there is no such file or folder" if missing is None else f"there is no folder {missing}"
            return FileRefused(f"{path}: {told}.", next="Check the path.")
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return FileRefused(f"{path}: this user has no permission for it.", next="Name another, or change its mode.")
        case _:
            reason = failure.strerror or type(failure).__name__
            return FileRefused(f"{path}: {reason}.", next="Mend what the message names, then run it again.")
