"""What a killed writer left beside a file is removed by the next one, and nothing else is."""

from __future__ import annotations

import errno
import fcntl
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ops.connecting import files
from ops.files import FileRefused, passing, sweep, written

LEFT = ".any.memhub-passing-x7f2k_9a"
LEFT_ONCE = ".mcp.json.memhub-x7f2k_9a"
OTHERS = (
    ".mcp.json.memhub-20260101",
    ".mcp.json.memhub-backup",
    ".mcp.json.memhub-backup01",
    ".mcp.json.memhub-old_2025",
    ".mcp.json.memhub-original",
    ".mcp.json.memhub-passing-backup",
    ".mcp.json.memhub-x7f2k_9a.gz",
    ".other.json.memhub-x7f2k_9a",
    ".vsc.json.memhub-x7f2k_9a",
    "mcp.json.memhub-backup",
    "mcp.json.memhub-x7f2k_9a",
)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Beside what was left and what only looks so, all of it old."""
    monkeypatch.setattr("ops.files._UNLOCKED_S_MAX", -1)
    monkeypatch.setattr("ops.files._LEFT_ONCE_S_MIN", -1)
    for name in (LEFT, LEFT_ONCE, *OTHERS):
        (tmp_path / name).touch(mode=0o600)
    return tmp_path / "mcp.json"


def test_what_was_left_goes_with_the_next_write_of_a_client_s_file_and_copies_of_people_stay(file: Path) -> None:
    """Fails without `sweep` in _exchanged of ops/connecting/files.py, and without each part of _LEFT and _LEFT_ONCE."""
    files.change(file, lambda _text: "{}")

    assert names_in(file.parent) == sorted((*OTHERS, file.name))


def test_under_a_former_name_only_what_was_left_a_day_ago_is_removed(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Fails without the first line of _is_left_once.
    monkeypatch.undo()
    sweep(file)

    assert LEFT_ONCE in names_in(file.parent)


@pytest.mark.parametrize("other", ["mode", "owner", "link", "pipe"])
def test_under_a_former_name_what_mkstemp_did_not_make_stays(
    file: Path, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each fails without its part: the mode and the owner in _is_left_once, O_NOFOLLOW and S_ISREG in the removal.
    left = file.with_name(LEFT_ONCE)
    match other:
        case "mode":
            left.chmod(0o640)
        case "owner":
            monkeypatch.setattr("ops.files.os.geteuid", lambda: left.stat().st_uid + 1)
        case "link":
            left.unlink()
            left.symlink_to(file.with_name(OTHERS[0]))
        case "pipe":
            left.unlink()
            os.mkfifo(left, 0o600)
    sweep(file)

    assert os.path.lexists(left)


def test_what_is_being_written_stays(file: Path) -> None:
    # Fails without the lock of `passing`.
    with passing(file) as nascent:
        sweep(file)
        assert nascent.exists()


@pytest.fixture
def other_lock(file: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The lock that a sweep of another process takes on what is made beside the file, as soon as it is there."""
    held: list[int] = []
    mkstemp = tempfile.mkstemp

    def met(**asked: Any) -> tuple[int, str]:
        descriptor, name = mkstemp(**asked)
        held.append(os.open(name, os.O_RDONLY))
        fcntl.flock(held[0], fcntl.LOCK_EX)
        return descriptor, name

    monkeypatch.setattr("ops.files.tempfile.mkstemp", met)
    yield held
    for descriptor in held:
        os.close(descriptor)


def test_a_sweep_that_holds_the_lock_is_waited_for(
    file: Path, other_lock: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Fails where `lock` suppresses BlockingIOError: the file would be written without a lock, and swept.
    monkeypatch.setattr("ops.files.time.sleep", lambda _s: os.close(other_lock.pop()))
    with passing(file) as nascent:
        assert other_lock == []
        sweep(file)
        assert nascent.exists()


def test_what_was_swept_before_it_was_locked_is_not_written(
    file: Path, other_lock: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Fails without the look at the path in `lock`: it would be made anew without a lock, and readable by others.
    def swept(_s: float) -> None:
        (left,) = file.parent.glob(f".{file.name}.memhub-passing-????????")
        left.unlink()
        os.close(other_lock.pop())

    monkeypatch.setattr("ops.files.time.sleep", swept)
    with pytest.raises(FileRefused, match="taken for what a killed process left"), written(file):
        raise AssertionError


def test_a_lock_that_stays_is_told_and_nothing_is_left(
    file: Path, other_lock: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Fails without _SWEPT_S_MAX: it waits for ever.
    monkeypatch.setattr("ops.files._SWEPT_S_MAX", -1)
    with pytest.raises(FileRefused), written(file):
        raise AssertionError
    assert other_lock
    assert names_in(file.parent) == sorted(OTHERS)


@pytest.mark.parametrize("number", [errno.ENOTSUP, errno.ENOLCK, errno.EBADF])
def test_a_file_system_without_locks_is_written_to(file: Path, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Fails without _LOCKLESS.
    monkeypatch.setattr("ops.files.fcntl.flock", refusing(number))
    with written(file) as nascent:
        nascent.write(b"{}")
    assert file.read_bytes() == b"{}"


def test_a_lock_that_fails_otherwise_is_told(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Fails where `lock` suppresses every OSError.
    monkeypatch.setattr("ops.files.fcntl.flock", refusing(errno.EIO))
    with pytest.raises(FileRefused, match="Input/output error"), written(file):
        raise AssertionError


def test_what_is_young_is_not_locked(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Fails where the age is asked under the lock: whoever makes it would meet that.
    locked: list[int] = []
    monkeypatch.setattr("ops.files._UNLOCKED_S_MAX", 60.0)
    monkeypatch.setattr("ops.files._LEFT_ONCE_S_MIN", 60.0)
    monkeypatch.setattr("ops.files.fcntl.flock", lambda descriptor, _how: locked.append(descriptor))
    sweep(file)
    assert locked == []
    monkeypatch.setattr("ops.files._UNLOCKED_S_MAX", -1)
    sweep(file)
    assert len(locked) == 1


def test_a_backup_that_is_cut_off_leaves_what_the_next_write_removes(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Fails where `_copy` makes its copy under a name that `sweep` does not know.
    file.write_text("{}")
    seen: list[str] = []
    monkeypatch.setattr("ops.connecting.files.shutil.copy2", lambda _file, copy: seen.append(Path(copy).name))
    files.change(file, lambda _text: "[]")
    file.with_name(seen[0]).touch()
    sweep(file)

    assert names_in(file.parent) == sorted((*OTHERS, file.name))


def refusing(number: int) -> Callable[[int, int], None]:
    def flock(_descriptor: int, _how: int) -> None:
        raise OSError(number, os.strerror(number))

    return flock


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())
