import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ops.connecting import files
from ops.connecting.errors import ClientFileRefused
from tests.embedded.processes import as_user


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
