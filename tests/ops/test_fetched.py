"""The copies that imports from elsewhere make, and what is left of them."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ops import fetched

ROOT = Path(__file__).parents[2]

_COPIES = """
import sys
from ops import fetched
with fetched.passing("standard input") as path:
    path.write_text("said")
    print(path, flush=True)
    sys.stdin.read()
"""

Copying = tuple[subprocess.Popen[str], Path]


@pytest.fixture
def copying(tmp_path: Path) -> Iterator[Callable[[], Copying]]:
    """A process with a copy among the temporary files, and its folder."""
    begun: list[subprocess.Popen[str]] = []

    def begin() -> Copying:
        process = subprocess.Popen(
            [sys.executable, "-c", _COPIES],
            cwd=ROOT,
            env=os.environ | {"TMPDIR": str(tmp_path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        begun.append(process)
        assert process.stdout is not None
        return process, Path(process.stdout.readline().rstrip("\n")).parent

    yield begin
    for process in begun:
        process.communicate()


@pytest.fixture(autouse=True)
def of_any_age(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(fetched, "_UNLOCKED_S_MAX", -60.0)


def test_what_a_killed_import_left_is_swept_and_no_other(copying: Callable[[], Copying], tmp_path: Path) -> None:
    # Fails without `sweep`, and without the flock in `passing`.
    living, there = copying()
    killed, left = copying()
    killed.kill()
    killed.wait()
    assert (left / "standard input").read_text() == "said"
    fetched.sweep()
    assert (left.exists(), (there / "standard input").exists()) == (False, True)
    living.communicate()
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_ours_is_not_swept(tmp_path: Path) -> None:
    # Fails without _LEFT and O_DIRECTORY, and without the mode and the owner in `_is_left`.
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "memhub-import-notes").mkdir(mode=0o700)
    (tmp_path / "memhub-import-abcdefgh").mkdir(mode=0o755)
    (tmp_path / "memhub-import-12345678").write_text("said")
    (tmp_path / "memhub-import-a_b_c_d_").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "memhub-import-somebody").mkdir(mode=0o700)
    if os.geteuid() == 0:
        os.chown(tmp_path / "memhub-import-somebody", 65534, -1)
    else:
        (tmp_path / "memhub-import-somebody").chmod(0o711)
    os.mkfifo(tmp_path / "memhub-import-pipepipe", mode=0o700)
    before = sorted(tmp_path.iterdir())
    fetched.sweep()
    assert sorted(tmp_path.iterdir()) == before


def test_the_next_import_from_elsewhere_sweeps(copying: Callable[[], Copying]) -> None:
    # Fails without `sweep` in `passing`.
    killed, left = copying()
    killed.kill()
    killed.wait()
    with fetched.passing("fetched"):
        assert not left.exists()


def test_one_of_this_moment_may_be_not_locked_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Fails without _UNLOCKED_S_MAX.
    monkeypatch.setattr(fetched, "_UNLOCKED_S_MAX", 60.0)
    (tmp_path / "memhub-import-abcdefgh").mkdir(mode=0o700)
    fetched.sweep()
    assert (tmp_path / "memhub-import-abcdefgh").exists()


def test_what_is_young_is_not_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Fails where the age is asked under the lock: whoever makes it would meet that.
    locked: list[int] = []
    monkeypatch.setattr("ops.fetched.fcntl.flock", lambda descriptor, _how: locked.append(descriptor))
    (tmp_path / "memhub-import-abcdefgh").mkdir(mode=0o700)
    monkeypatch.setattr(fetched, "_UNLOCKED_S_MAX", 60.0)
    fetched.sweep()
    assert locked == []
    monkeypatch.setattr(fetched, "_UNLOCKED_S_MAX", -60.0)
    fetched.sweep()
    assert len(locked) == 1


def test_a_sweep_that_holds_the_lock_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Fails where `passing` does not lock by `lock`: the copy would be written without one, and swept.
    held: list[int] = []
    mkdtemp = tempfile.mkdtemp

    def met(*asked: Any) -> str:
        folder: str = mkdtemp(*asked)
        held.append(os.open(folder, os.O_RDONLY))
        fcntl.flock(held[0], fcntl.LOCK_EX)
        return folder

    monkeypatch.setattr("ops.fetched.tempfile.mkdtemp", met)
    monkeypatch.setattr("ops.files.time.sleep", lambda _s: os.close(held.pop()))
    with fetched.passing("fetched") as copy:
        assert held == []
        fetched.sweep()
        assert copy.parent.exists()
