"""Files of other programs: changed whole or not at all, the state before kept beside them."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ops.connecting.errors import ClientFileRefused, Malformed
from ops.files import passing, reading, sweep, sync

BYTES_MAX = 64 * 2**20
ATTEMPTS_MAX = 5
LOCK_WAIT_S_MAX = 10.0
_LOCK_POLL_S = 0.02
BACKUP_SUFFIX = ".memhub-backup"
# What we make may hold a token or the URL of a database.
MODE_NEW = 0o600
# In every folder of people's homes that was made for a file: only such a folder is removed with it.
MADE = ".memhub-made"

Edit = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class Change:
    """What became of a file; `backup` was made of the state before, None where none was.

    `names_left`: so many other names of the file, hard links, still lead to the state before.
    """

    path: Path
    done: bool
    backup: Path | None = None
    names_left: int = 0


def change(
    path: Path, edit: Edit, *, is_ours: Callable[[str], bool] = lambda _text: False, marks: bool = True
) -> Change:
    """Applies the edit to the file's text, "" where there is no file; a None removes the file.

    The state before is kept beside it unless memhub `is_ours` in it already: the backup of the file as its owner had
    it stays. Folders that are made get the mark of `remove_made` where that `marks`. A symbolic link stays and its
    target changes; the mode stays. Raises ClientFileRefused.
    """
    with _naming(path):
        target = _resolved(path)
        for _ in range(ATTEMPTS_MAX):
            before = _read(path, target)
            after = _edited(path, before or "", edit)
            if after == before or (before is None and not after):
                return Change(path, done=False)
            keep = before is not None and not is_ours(before)
            names_left = 0 if before is None else target.stat().st_nlink - 1
            _make(target.parent, marks=marks)
            if _exchanged(target, before, after, keep=keep):
                return Change(path, done=True, backup=backup_of(target) if keep else None, names_left=names_left)
    raise ClientFileRefused(path, "another program keeps changing it", next="Close that program, then run it again.")


def backup_of(path: Path) -> Path:
    """Where the state from before memhub is kept."""
    target = _resolved(path)
    return target.with_name(target.name + BACKUP_SUFFIX)


def text(path: Path) -> str:
    """The text of the file, "" where there is none. Raises ClientFileRefused."""
    with _naming(path):
        return _read(path, _resolved(path)) or ""


def kept(path: Path) -> str | None:
    """The text of the backup, None where there is none. Raises ClientFileRefused."""
    with _naming(path):
        backup = backup_of(path)
        return _read(backup, backup)


def remove_made(paths: Iterable[Path]) -> None:
    """Removes the folders that were made for these files and hold nothing else; one that others use is theirs now."""
    folders = {folder for path in paths for folder in _resolved(path).parents}
    for folder in sorted(folders, key=lambda folder: len(folder.parts), reverse=True):
        # A folder of ours in it is of a file that stays.
        if (folder / MADE).is_file() and not any(folder.glob(f"*/{MADE}")):
            with suppress(OSError):
                (folder / MADE).unlink()
                folder.rmdir()


def remove_empty(paths: Iterable[Path], *, within: Path) -> None:
    """Removes the empty folders from these files up to that one, which stays.

    In a repository: there an empty folder is nobody's, since git keeps none, and a mark in it would be litter.
    """
    for path in paths:
        for folder in path.parents[: len(path.relative_to(within).parts) - 1]:
            with suppress(OSError):
                folder.rmdir()


def check(path: Path, edit: Edit) -> None:
    """Raises ClientFileRefused for what `change` would refuse; writes nothing."""
    with _naming(path):
        target = _resolved(path)
        folder = next(folder for folder in target.parents if folder.exists())
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, f"no permission to write in {folder}")
        _edited(path, _read(path, target) or "", edit)


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except RuntimeError:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None


def _edited(path: Path, before: str, edit: Edit) -> str | None:
    try:
        return edit(before)
    except Malformed as malformed:
        raise ClientFileRefused(path, str(malformed)) from None


def _exchanged(target: Path, before: str | None, after: str | None, *, keep: bool) -> bool:
    """False, and nothing changed, when somebody else changed the file meanwhile."""
    sweep(target)
    with _nascent(target, after or "") as nascent, _alone_in(target.parent):
        if _read(target, target) != before:
            return False
        if keep:
            _copy(target, backup_of(target))
        if after is None:
            target.unlink()
        else:
            nascent.replace(target)
    sync(target.parent)
    return True


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Between the last look at a file and its exchange no other memhub exchanges one there. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        give_up = time.monotonic() + LOCK_WAIT_S_MAX
        while not _locked(descriptor):
            if time.monotonic() > give_up:
                raise OSError(errno.EBUSY, f"another memhub is writing in {folder}")
            time.sleep(_LOCK_POLL_S)
        yield
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        # Not on every file system: there it is written without.
        return True
    return True


def _make(folder: Path, *, marks: bool) -> None:
    for missing in reversed([one for one in (folder, *folder.parents) if not one.exists()]):
        with suppress(FileExistsError):
            missing.mkdir()
            if marks:
                (missing / MADE).touch()


@contextmanager
def _nascent(target: Path, text: str) -> Iterator[Path]:
    with passing(target) as nascent:
        nascent.write_bytes(text.encode())
        sync(nascent)
        _take_after(nascent, target)
        yield nascent


def _take_after(nascent: Path, target: Path) -> None:
    if not target.exists():
        nascent.chmod(MODE_NEW)
        return
    status = target.stat()
    nascent.chmod(status.st_mode & 0o777)
    _give(nascent, status)


def _give(made: Path, status: os.stat_result) -> None:
    """Only root may; the client's user is to read what root wrote beside its file."""
    if status.st_uid != os.geteuid():
        with suppress(PermissionError):
            os.chown(made, status.st_uid, status.st_gid)


def _copy(target: Path, backup: Path) -> None:
    with passing(backup) as copy:
        shutil.copy2(target, copy)
        _give(copy, target.stat())
        copy.replace(backup)


def _read(path: Path, target: Path) -> str | None:
    try:
        with reading(target, follow=True) as file:
            content = file.read(BYTES_MAX + 1)
    except FileNotFoundError:
        return None
    if len(content) > BYTES_MAX:
        raise ClientFileRefused(path, f"it is larger than {BYTES_MAX} bytes")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise ClientFileRefused(path, "it is not UTF-8") from None


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as failure:
        reason = failure.strerror or type(failure).__name__
        raise ClientFileRefused(path, reason, next="Free or open that place, then run it again.") from None
