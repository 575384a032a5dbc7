"""SQLite files of others: opened to be read alone, and read by a thread, so that a stop is heard whatever they do."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import TypeVar

from ops.files import FileRefused

ROWS_AT_ONCE = 100
LOOK_S = 0.02
LOCKED_S_MAX = 5.0
_INSTRUCTIONS = 100_000

_TABLES = "SELECT lower(name) FROM sqlite_master WHERE type = 'table'"
# The write and read version in a file's header: 2 is a write-ahead log (https://www.sqlite.org/fileformat2.html).
_VERSIONS = slice(18, 20)
_WRITE_AHEAD = b"\2\2"

# A result code's lowest byte is its kind (https://www.sqlite.org/rescode.html).
_KIND = 0xFF
_UNOPENED = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
_LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)

T = TypeVar("T")


@contextmanager
def database(path: Path, *, told: str) -> Iterator[sqlite3.Connection]:
    """The file, read only; by one thread after another. A text that is no UTF-8 comes as its bytes.

    Raises sqlite3.Error, and FileRefused for one that is locked or whose log cannot be read.
    """
    with closing(_opened(path, told)) as opened:
        yield opened


def tables(opened: sqlite3.Connection) -> set[str]:
    """The names of its tables: a view is a program of whoever made the file, and may never end."""
    opened.execute("PRAGMA trusted_schema = OFF")
    return {name for (name,) in opened.execute(_TABLES)}


def rows(path: Path, table: str, read: Callable[[sqlite3.Connection], Iterator[T]], *, told: str) -> Iterator[T | None]:
    """What `read` makes of the file, which must have that table; None where there is nothing yet.

    Closing it ends the statement that runs. Raises as `database`.
    """
    with database(path, told=told) as opened, ThreadPoolExecutor(1) as thread:
        if table not in tables(opened):
            raise sqlite3.OperationalError(f"it has no table {table}")
        stopped = threading.Event()
        # An interrupt alone would be lost on a statement that is just about to begin.
        opened.set_progress_handler(stopped.is_set, _INSTRUCTIONS)
        found = _lazily(read, opened)
        try:
            here: list[T] = []
            while True:
                ahead = thread.submit(lambda: list(islice(found, ROWS_AT_ONCE)))
                yield from here
                while not wait([ahead], LOOK_S).done:
                    yield None
                here = ahead.result()
                if not here:
                    return
        finally:
            stopped.set()


def _lazily(read: Callable[[sqlite3.Connection], Iterator[T]], opened: sqlite3.Connection) -> Iterator[T]:
    # A statement begins to run where it is executed.
    yield from read(opened)


def _opened(path: Path, told: str) -> sqlite3.Connection:
    uri = f"{path.resolve().as_uri()}?mode=ro"
    opened = _connection(uri)
    try:
        tables(opened)
    except sqlite3.OperationalError as failure:
        opened.close()
        kind = failure.sqlite_errorcode & _KIND
        if kind in _LOCKED:
            raise FileRefused(
                f"{told}: another program has it locked.", next="Close that program, then run it again."
            ) from None
        # It takes a file beside it to read a write-ahead log, which nobody can make in a folder of somebody else.
        # immutable=1 looks at no lock: it is for what could not be opened otherwise, and for nothing else.
        if kind not in _UNOPENED or not _has_log(path):
            raise
        log = path.resolve().with_name(f"{path.resolve().name}-wal")
        if log.exists() and log.stat().st_size > 0:
            raise FileRefused(
                f"{told}: a part of it is in {log.name}, which cannot be read where this user may not write.",
                next="Copy both files to a folder of your own and import the copy.",
            ) from None
        return _connection(f"{uri}&immutable=1")
    except BaseException:
        opened.close()
        raise
    return opened


def _connection(uri: str) -> sqlite3.Connection:
    opened = sqlite3.connect(uri, uri=True, check_same_thread=False, timeout=LOCKED_S_MAX)
    # At once: a name that is no UTF-8 is an OperationalError without a code otherwise.
    opened.text_factory = _text
    return opened


def _has_log(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(_VERSIONS.stop)[_VERSIONS] == _WRITE_AHEAD


def _text(value: bytes) -> str | bytes:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value
