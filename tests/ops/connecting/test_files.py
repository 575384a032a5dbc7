import fcntl
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ops.connecting import files
from ops.connecting.errors import ClientFileRefused
from tests.embedded.processes import WAIT_S, as_user, ended, line_from, python


def test_a_file_is_made_for_its_owner_alone_with_its_folders(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b.json"
    change = files.change(path, lambda _text: "{}")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("{}", 0o600)
    assert change == files.Change(path, done=True)


def test_the_state_before_is_kept_and_the_mode_stays(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    path.write_text("old")
    path.chmod(0o640)
    change = files.change(path, lambda text: text + " new")
    assert path.read_text() == "old new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert change.backup is not None
    assert change.backup.read_text() == "old"
    assert sorted(tmp_path.iterdir()) == [path, change.backup]


def test_nothing_is_written_when_nothing_changes(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    path.write_text("old")
    before = path.stat()
    assert not files.change(path, lambda text: text).done
    assert path.stat() == before
    assert not files.change(tmp_path / "none", lambda _text: None).done
    assert list(tmp_path.iterdir()) == [path]


def test_a_symbolic_link_stays_and_its_target_changes(tmp_path: Path) -> None:
    target, link = tmp_path / "dotfiles.json", tmp_path / "b.json"
    target.write_text("old")
    link.symlink_to(target)
    files.change(link, lambda _text: "new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_change_by_another_program_on_the_way_is_built_upon(tmp_path: Path) -> None:
    # Without the second reading in _exchanged the other program's line is lost.
    path = tmp_path / "b.json"
    path.write_text("1")
    others = iter(["2", "3"])

    def edit(text: str) -> str:
        if (other := next(others, None)) is not None:
            path.write_text(other)
        return text + "+ours"

    files.change(path, edit)
    assert path.read_text() == "3+ours"


def test_a_file_that_never_rests_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    path.write_text("")

    def edit(text: str) -> str:
        path.write_text(text + ".")
        return "ours"

    with pytest.raises(ClientFileRefused, match="another program keeps changing it"):
        files.change(path, edit)


def test_bytes_that_are_no_text_are_refused_and_stay(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    path.write_bytes(b"\xff{}")
    with pytest.raises(ClientFileRefused, match="it is not UTF-8"):
        files.change(path, lambda _text: "new")
    assert path.read_bytes() == b"\xff{}"


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ClientFileRefused, match="Not a directory"):
        files.change(tmp_path / "file" / "b.json", lambda _text: "new")


@pytest.fixture
def folder_of_root() -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("needs root, to become another user")
    made = Path(tempfile.mkdtemp(prefix="mh-", dir="/tmp"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


def test_a_folder_without_permission_is_refused_before_anything_is_written(folder_of_root: Path) -> None:
    path = folder_of_root / "deeper" / "b.json"
    refused = as_user("nobody", lambda: files.check(path, lambda _text: "new"))
    assert f"no permission to write in {folder_of_root}" in refused


@pytest.mark.parametrize("through", ["file", "link"])
def test_what_is_no_file_of_bytes_is_refused_at_once(through: str, tmp_path: Path) -> None:
    # Fails without `reading` in `_read`: to open a pipe without a writer never ends.
    pipe, path = tmp_path / "pipe", tmp_path / "b.json"
    os.mkfifo(pipe)
    path.symlink_to(pipe) if through == "link" else pipe.rename(path)
    for work in (files.change, files.check):
        with pytest.raises(ClientFileRefused, match="it is no file of bytes"):
            work(path, lambda _text: "new")
    path.unlink()
    path.write_text("old")
    os.mkfifo(files.backup_of(path))
    with pytest.raises(ClientFileRefused, match="it is no file of bytes"):
        files.kept(path)


@pytest.mark.parametrize("name", ["b.json", "deeper/b.json"])
def test_a_link_that_leads_to_itself_is_refused(name: str, tmp_path: Path) -> None:
    # Fails without `_resolved`, with a RuntimeError.
    path = tmp_path / name
    loop = tmp_path / Path(name).parts[0]
    loop.symlink_to(loop.name)
    for work in (lambda: files.change(path, str), lambda: files.check(path, str), lambda: files.text(path)):
        with pytest.raises(ClientFileRefused, match=r"Too many levels|Not a directory"):
            work()


def test_the_owner_of_the_file_owns_the_backup_too(folder_of_root: Path) -> None:
    # Fails without `_give` in `_copy`.
    path = folder_of_root / "b.json"
    path.write_text("old")
    path.chmod(0o640)
    os.chown(path, 65534, 65534)
    files.change(path, lambda _text: "new")
    for file in (path, files.backup_of(path)):
        status = file.stat()
        assert (status.st_uid, status.st_gid, status.st_mode & 0o777) == (65534, 65534, 0o640)


def test_other_names_of_a_file_are_counted(tmp_path: Path) -> None:
    # Fails without `names_left`.
    path = tmp_path / "b.json"
    path.write_text("old")
    (tmp_path / "dotfiles.json").hardlink_to(path)
    assert files.change(path, lambda _text: "new").names_left == 1
    assert files.change(path, lambda _text: "newer").names_left == 0
    assert (tmp_path / "dotfiles.json").read_text() == "old"


_CHANGING = """
import sys
from pathlib import Path
from ops.connecting import files

replace = Path.replace

def held(self, target):
    Path.replace = replace
    print("read", flush=True)
    sys.stdin.readline()
    return replace(self, target)

Path.replace = held
files.change(Path(sys.argv[1]), lambda text: text + " theirs")
"""


def test_of_two_that_change_one_file_neither_is_lost(tmp_path: Path) -> None:
    # Fails without `_alone_in`: theirs is put over ours, which came after its last look.
    path = tmp_path / "b.json"
    path.write_text("old")
    with ended(python(_CHANGING, path)) as other:
        assert line_from(other.stdout) == "read"
        ours = threading.Thread(target=lambda: files.change(path, lambda text: text + " ours"))
        ours.start()
        ours.join(1)
        told = other.communicate("go\n", timeout=WAIT_S)
        ours.join(WAIT_S)
        assert (other.returncode, told[1]) == (0, "")
    assert path.read_text() == "old theirs ours"


def test_a_folder_that_another_never_leaves_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LOCK_WAIT_S_MAX", 0.05)
    descriptor = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    with pytest.raises(ClientFileRefused, match="another memhub is writing"):
        files.change(tmp_path / "b.json", lambda _text: "new")
    os.close(descriptor)
    assert list(tmp_path.iterdir()) == []
