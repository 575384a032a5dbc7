"""Files of people: written whole or not at all, and what the system refuses told in one line."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from shared.errors import MemhubError


class FileRefused(MemhubError):
    """A file or folder that cannot be read or written, named."""

    code = "FILE"


@contextmanager
def written(path: Path | None) -> Iterator[BinaryIO]:
    """A file that appears under its name when the block ends well, and never else; None is standard output.

    Raises FileRefused.
    """
    if path is None:
        with naming(Path("standard output")):
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        return
    with naming(path), passing(path) as nascent:
        with nascent.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        publish(nascent, path)


@contextmanager
def passing(path: Path) -> Iterator[Path]:
    """A name beside `path`, readable by this user only; what is left under it at the end is removed."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(descriptor)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


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
        case errno.ENOSPC | errno.EDQUOT:
            return FileRefused(f"{path}: the disk is full; nothing was left there.", next="Free space or name another.")
        case errno.ENOENT:
            return FileRefused(f"{path}: there is no such file or folder.", next="Check the path.")
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return FileRefused(f"{path}: this user has no permission for it.", next="Name another, or change its mode.")
        case _:
            reason = failure.strerror or type(failure).__name__
            return FileRefused(f"{path}: {reason}.", next="Mend what the message names, then run it again.")
