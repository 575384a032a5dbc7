"""Folders that cannot work: one line that names the folder and what to do, and nothing overwritten."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from shared import embedded
from shared.embedded import cluster, folder, ping
from shared.embedded.ping import State
from shared.errors import BackendUnavailable, ConfigurationError, MemhubError
from tests.embedded.processes import as_user


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _refusal(data_dir: Path, kind: type[MemhubError]) -> str:
    with pytest.raises(kind) as refused:
        embedded.ensure_running(data_dir)
    assert "\n" not in refused.value.message
    assert str(data_dir) in refused.value.message
    assert refused.value.next
    return refused.value.message


@pytest.fixture
def small_disk(as_root: None) -> Iterator[Path]:
    mounted = Path(tempfile.mkdtemp(prefix="mh-", dir="/tmp"))
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m,mode=700", "none", mounted], check=False)
    if done.returncode != 0:
        mounted.rmdir()
        pytest.skip("needs the right to mount, for a disk that is soon full")
    yield mounted
    subprocess.run(["umount", mounted], check=True)
    mounted.rmdir()


def test_a_database_of_another_major_version_is_left_untouched(data_dir: Path) -> None:
    """Holds by the comparison of versions in making._require_ours."""
    embedded.ensure_running(data_dir)
    embedded.stop(data_dir)
    (data_dir / "postgres" / "PG_VERSION").write_text("16\n")
    before = _contents(data_dir / "postgres")

    assert "PostgreSQL 16, not 18" in _refusal(data_dir, ConfigurationError)
    assert _contents(data_dir / "postgres") == before
    (data_dir / "postgres" / "PG_VERSION").write_text("18\n")


def test_a_folder_that_is_no_database_is_left_untouched(empty_dir: Path) -> None:
    """Holds by the test for emptiness in making.prepare."""
    (empty_dir / "postgres").mkdir(parents=True)
    (empty_dir / "postgres" / "thesis.txt").write_text("years of work")
    _hand_over(empty_dir / "postgres")

    assert "is not a PostgreSQL database" in _refusal(empty_dir, ConfigurationError)
    assert _contents(empty_dir / "postgres") == {"thesis.txt": b"years of work"}


def _hand_over(cluster: Path) -> None:
    if os.geteuid() == 0:
        shutil.chown(cluster, "memhub-postgres", "memhub-postgres")


def test_a_damaged_database_is_told_and_not_made_anew(data_dir: Path) -> None:
    embedded.ensure_running(data_dir)
    embedded.stop(data_dir)
    control = data_dir / "postgres" / "global" / "pg_control"
    whole = control.read_bytes()
    control.write_bytes(b"\0" * len(whole))

    message = _refusal(data_dir, BackendUnavailable)

    assert "did not start" in message
    assert control.read_bytes() == b"\0" * len(whole)
    control.write_bytes(whole)
    embedded.ensure_running(data_dir)


def test_a_full_disk_is_told_and_nothing_is_left_behind(small_disk: Path) -> None:
    data_dir = small_disk / "data"

    assert "disk" in _refusal(data_dir, BackendUnavailable)
    assert [path.name for path in data_dir.iterdir()] == ["lock"]


@pytest.mark.parametrize("state", [State.DISK_FULL, State.BUSY])
def test_a_disk_that_filled_up_under_a_database_is_told_as_full(small_disk: Path, state: State) -> None:
    # Fails without `_is_full` in cluster._refuse: PostgreSQL may recover without end there, and was waited for.
    layout = folder.claim(small_disk / "data")
    if state is State.BUSY:
        _fill(small_disk)
    with pytest.raises(BackendUnavailable, match=r"The disk of the data folder .* is full"):
        cluster._refuse(state, layout)


def test_a_start_that_had_no_room_to_say_why_is_told_as_that(small_disk: Path) -> None:
    # Fails without `_is_full` in cluster._explain: the log has no room either, and no reason was given.
    layout = folder.claim(small_disk / "data")
    _fill(small_disk)
    with pytest.raises(BackendUnavailable, match=r"The disk of the data folder .* is full"):
        cluster._explain(layout, "")


def _fill(disk: Path) -> None:
    with suppress(OSError), (disk / "filler").open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4_096)


@pytest.mark.parametrize(
    ("code", "state"),
    [
        ("53100", State.DISK_FULL),
        ("53300", State.READY),
        ("57P03", State.BUSY),
        ("58030", State.BUSY),
        ("28000", State.FOREIGN),
        ("3D000", State.FOREIGN),
        ("", State.FOREIGN),
    ],
)
def test_what_a_server_refuses_with_is_told_apart(code: str, state: State) -> None:
    assert ping._refusal(b"SFATAL\0C" + code.encode() + b"\0Mno\0\0") is state


def test_a_read_only_disk_is_told(small_disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)

    assert "Read-only file system" in _refusal(small_disk / "data", ConfigurationError)


def test_a_folder_without_permission_is_told(empty_dir: Path) -> None:
    empty_dir.parent.chmod(0o700)
    refused = _refused_for_nobody(empty_dir) if os.geteuid() == 0 else _refused_here(empty_dir)

    assert refused == ("ConfigurationError", True, True)


def _refused_for_nobody(data_dir: Path) -> object:
    return as_user("nobody", lambda: _attempt(data_dir))


def _refused_here(data_dir: Path) -> object:
    data_dir.parent.chmod(0o500)
    try:
        return _attempt(data_dir)
    finally:
        data_dir.parent.chmod(0o700)


def _attempt(data_dir: Path) -> tuple[str, bool, bool]:
    try:
        embedded.ensure_running(data_dir)
    except MemhubError as refused:
        return type(refused).__name__, str(data_dir) in refused.message, "MEMHUB_DATA_DIR" in refused.next
    return "started", False, False


def test_a_file_in_the_place_of_the_folder_is_told(empty_dir: Path) -> None:
    empty_dir.write_text("not a folder")

    _refusal(empty_dir, ConfigurationError)
    assert empty_dir.read_text() == "not a folder"


def test_a_cluster_of_another_owner_is_told_with_the_command(data_dir: Path, as_root: None) -> None:
    embedded.ensure_running(data_dir)
    embedded.stop(data_dir)
    os.chown(data_dir / "postgres", 65534, 65534)

    with pytest.raises(ConfigurationError) as refused:
        embedded.ensure_running(data_dir)
    assert f"chown -R memhub-postgres {data_dir}/postgres" in refused.value.next
    _hand_over(data_dir / "postgres")
