"""What a killed writer left beside a file is removed by the next one, and nothing else is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ops.connecting import files
from ops.files import passing, sweep

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


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())
