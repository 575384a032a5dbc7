"""Who may enter, and that nobody's folder is opened for it."""

from __future__ import annotations

import os
import stat
import tempfile
from functools import partial
from pathlib import Path

import psycopg
import pytest

from shared import embedded
from shared.embedded import folder as folders
from shared.embedded import sockets
from shared.embedded.ping import State, ping
from shared.errors import BackendUnavailable, ConfigurationError
from tests.embedded.processes import as_user

NOBODY = "nobody"


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_no_parent_changes_its_mode_or_owner(folder: Path) -> None:
    """Holds by Programs._seen: root's server works below closed parents without a walk through them."""
    parents = [folder, folder / "closed", folder / "closed" / "open"]
    parents[1].mkdir(mode=0o700)
    parents[2].mkdir(mode=0o755)
    before = [path.stat() for path in (*parents, *folder.parents)]

    embedded.ensure_running(parents[2] / "data")
    embedded.stop(parents[2] / "data")

    after = [path.stat() for path in (*parents, *folder.parents)]
    assert [(s.st_mode, s.st_uid, s.st_gid) for s in after] == [(s.st_mode, s.st_uid, s.st_gid) for s in before]


def test_our_own_folders_and_files_are_closed(empty_dir: Path) -> None:
    embedded.ensure_running(empty_dir)
    with embedded.hold_lease(empty_dir):
        pass

    modes = {path.name: _mode(path) for path in (empty_dir, *empty_dir.iterdir())}
    assert modes == {"data": 0o700, "postgres": 0o700, "lock": 0o600, "leases": 0o600, "postgres.log": 0o600}


def test_another_user_cannot_reach_the_socket(data_dir: Path, as_root: None) -> None:
    cluster = embedded.ensure_running(data_dir)
    data_dir.parent.chmod(0o755)

    answer = as_user(NOBODY, lambda: ping(sockets.socket_path(cluster.socket_dir), user="memhub", database="memhub"))

    assert str(answer).startswith("PermissionError")


def test_another_user_at_the_socket_is_refused_by_the_server(data_dir: Path, as_root: None) -> None:
    """Holds by the peer line that making.prepare writes to pg_hba.conf."""
    cluster = embedded.ensure_running(data_dir)
    for path in (data_dir.parent, data_dir, cluster.socket_dir):
        path.chmod(0o755)
    sockets.socket_path(cluster.socket_dir).chmod(0o777)

    for role in ("memhub", "postgres", NOBODY):
        answer = as_user(
            NOBODY,
            partial(ping, sockets.socket_path(cluster.socket_dir), user=role, database="memhub"),
        )
        assert answer is State.FOREIGN
    cluster.socket_dir.chmod(0o700)


def test_another_user_has_a_database_of_its_own_at_the_same_time(data_dir: Path, as_root: None) -> None:
    embedded.ensure_running(data_dir)
    with tempfile.TemporaryDirectory(dir="/tmp") as home:
        os.chown(home, 65534, 65534)
        theirs = Path(home) / "data"

        answer = as_user(NOBODY, lambda: _use(theirs))

    assert answer == ("memhub", "nobody", 0o700)
    assert embedded.is_running(data_dir)


def _use(data_dir: Path) -> tuple[str, str, int]:
    cluster = embedded.ensure_running(data_dir)
    with psycopg.connect(cluster.dsn) as connection:
        row = connection.execute("SELECT current_user::text").fetchone()
    assert row is not None
    embedded.stop(data_dir)
    return row[0], data_dir.joinpath("postgres").owner(), _mode(data_dir)


def test_a_folder_of_another_user_is_refused(empty_dir: Path, as_root: None) -> None:
    empty_dir.mkdir()
    os.chown(empty_dir, 65534, 65534)

    with pytest.raises(ConfigurationError, match=f"{empty_dir} belongs to user id 65534"):
        embedded.ensure_running(empty_dir)
    os.chown(empty_dir, 0, 0)


def test_a_folder_that_others_may_write_is_refused_and_left_as_it_is(empty_dir: Path) -> None:
    empty_dir.mkdir()
    empty_dir.chmod(0o777)

    with pytest.raises(ConfigurationError, match="written by other users"):
        embedded.ensure_running(empty_dir)
    assert _mode(empty_dir) == 0o777


def test_a_long_path_is_reached_through_a_short_private_link(folder: Path) -> None:
    """Holds by sockets._linked: a socket's path ends at 107 bytes."""
    data_dir = folder / ("long," * 10) / ("path" * 30)
    cluster = embedded.ensure_running(data_dir)
    try:
        link = cluster.socket_dir
        with psycopg.connect(cluster.dsn) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        assert link.is_symlink()
        assert (_mode(link.parent), link.parent.stat().st_uid) == (0o700, os.geteuid())
        link.unlink()  # as a logout does with all of /run/user/UID

        assert embedded.ensure_running(data_dir) == cluster
        assert link.is_symlink()
    finally:
        embedded.stop(data_dir)
        link.unlink(missing_ok=True)


def test_a_comma_in_the_path_does_not_split_the_host(folder: Path) -> None:
    data_dir = folder / "a, b%c"
    cluster = embedded.ensure_running(data_dir)
    with psycopg.connect(cluster.dsn) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    embedded.stop(data_dir)
    cluster.socket_dir.unlink()


def test_a_link_folder_prepared_by_somebody_else_is_not_used(folder: Path, as_root: None) -> None:
    """Holds by sockets.is_private: the place may be in a folder that all may write."""
    theirs, opened, link = folder / "theirs", folder / "opened", folder / "link"
    for made in (theirs, opened):
        made.mkdir(mode=0o700)
    os.chown(theirs, 65534, 65534)
    opened.chmod(0o777)
    link.symlink_to(folder)

    assert [sockets.is_private(path) for path in (theirs, opened, link)] == [False] * 3
    assert sockets.is_private(folder / "fresh")


def test_links_to_folders_that_are_gone_do_not_pile_up(folder: Path) -> None:
    """Holds by sockets._tidy, which leaves a fresh link to what is still to be made."""
    links = []
    for number in range(3):
        data_dir = folder / (f"long{number}" * 12) / ("path" * 20)
        if number == 0:
            data_dir.mkdir(parents=True)
        links.append(sockets.client_folder(data_dir))
        os.utime(links[-1], (0, 0), follow_symlinks=False)
    links.append(sockets.client_folder(folder / ("longer" * 12) / ("path" * 20)))
    links.append(sockets.client_folder(folder / ("longest" * 12) / ("path" * 20)))

    assert [link.is_symlink() for link in links] == [True, False, False, True, True]
    for link in links:
        link.unlink(missing_ok=True)


def test_a_link_that_another_process_tidied_away_is_no_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Holds by the suppress in sockets._tidy."""
    gone = folder / "gone"
    gone.symlink_to(folder / "nothing")
    os.utime(gone, (0, 0), follow_symlinks=False)

    def tidied(link: Path) -> os.stat_result:
        link.unlink()
        return os.lstat(link)

    with monkeypatch.context() as between:
        between.setattr(type(gone), "lstat", lambda link: tidied(link) if link == gone else os.lstat(link))
        sockets._tidy(folder)
    assert list(folder.iterdir()) == []


def test_a_link_stands_in_no_folder_that_others_may_enter(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Holds by is_private and by the refusal in sockets._linked."""
    opened, closed = folder / "opened", folder / "closed"
    opened.mkdir()
    opened.chmod(0o755)
    data_dir = folder / ("long" * 12) / ("path" * 20)
    monkeypatch.setattr(sockets, "_bases", lambda: [opened, closed])
    assert sockets.client_folder(data_dir).parent == closed

    monkeypatch.setattr(sockets, "_bases", lambda: [opened])
    with pytest.raises(ConfigurationError, match="no private short folder could be made"):
        sockets.client_folder(data_dir)
    assert list(opened.iterdir()) == []


def test_a_lock_file_that_is_a_link_is_not_followed(empty_dir: Path) -> None:
    """Holds by O_NOFOLLOW in locks._try."""
    layout = folders.claim(empty_dir)
    target = empty_dir.parent / "precious"
    layout.lock.symlink_to(target)

    with pytest.raises(BackendUnavailable, match=str(empty_dir)):
        embedded.ensure_running(empty_dir)
    assert not target.exists()
    layout.lock.unlink()
