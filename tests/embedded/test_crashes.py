"""What survives kill -9: of a starter, of an attached process, of the server itself."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

from shared import embedded
from shared.errors import BackendUnavailable
from tests.embedded.processes import ended, line_from, postmaster_pid, python, until

USE = """
import sys; from pathlib import Path; from shared.embedded import attach
with attach(Path(sys.argv[1])) as cluster:
    print("attached", flush=True)
    sys.stdin.read()
"""

PR_SET_CHILD_SUBREAPER = 36


@pytest.fixture
def unreaped() -> Iterator[None]:
    """Orphans become children of the test process, which never waits: a killed server stays a zombie."""
    if not sys.platform.startswith("linux"):
        pytest.skip("needs Linux, to adopt a killed server as a zombie")
    process = ctypes.CDLL(None)
    process.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    yield
    process.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def _store(dsn: str) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")


def _stored(dsn: str) -> object:
    with psycopg.connect(dsn) as connection:
        return connection.execute("SELECT answer FROM kept").fetchall()


def test_kill_9_of_the_starter_and_its_whole_session_leaves_the_server_up(data_dir: Path) -> None:
    """Holds by starting with pg_ctl, which gives the server a session of its own."""
    with ended(python(USE, data_dir, start_new_session=True)) as starter:
        line_from(starter.stdout)
        pid = postmaster_pid(data_dir)
        os.killpg(starter.pid, signal.SIGKILL)
        starter.wait()

    assert embedded.is_running(data_dir)
    assert postmaster_pid(data_dir) == pid


def test_kill_9_of_an_attached_process_leaves_the_server_up_for_the_others(data_dir: Path) -> None:
    cluster = embedded.ensure_running(data_dir)
    with psycopg.connect(cluster.dsn) as other, ended(python(USE, data_dir)) as attached:
        line_from(attached.stdout)
        attached.kill()
        attached.wait()

        assert other.execute("SELECT 1").fetchone() == (1,)
        assert not embedded.is_leased(data_dir)


def test_kill_9_of_the_server_keeps_the_data(data_dir: Path) -> None:
    cluster = embedded.ensure_running(data_dir)
    _store(cluster.dsn)

    os.kill(postmaster_pid(data_dir), signal.SIGKILL)
    embedded.ensure_running(data_dir)

    assert _stored(cluster.dsn) == [(42,)]


def test_a_killed_server_that_nobody_reaped_does_not_block_the_next(data_dir: Path, unreaped: None) -> None:
    """Holds by the test for STATUS_ZOMBIE in postmaster._serves and by postmaster.forget_if_dead."""
    cluster = embedded.ensure_running(data_dir)
    _store(cluster.dsn)
    killed = psutil.Process(postmaster_pid(data_dir))
    killed.kill()
    until(lambda: killed.status() == psutil.STATUS_ZOMBIE)

    embedded.ensure_running(data_dir)

    assert _stored(cluster.dsn) == [(42,)]
    os.waitpid(killed.pid, 0)


def test_a_stranger_with_the_pid_of_a_killed_server_does_not_block_the_next(data_dir: Path) -> None:
    """Holds by postmaster.forget_if_dead in cluster._launch: a reboot gives the numbers anew."""
    cluster = embedded.ensure_running(data_dir)
    _store(cluster.dsn)
    noted = data_dir / "postgres" / "postmaster.pid"
    lines = noted.read_text().splitlines()
    embedded.stop(data_dir)
    owner = (data_dir / "postgres").stat()
    with ended(_process_of(owner.st_uid, owner.st_gid)) as stranger:
        noted.write_text("\n".join([str(stranger.pid), *lines[1:]]) + "\n")
        os.chown(noted, owner.st_uid, owner.st_gid)

        embedded.ensure_running(data_dir)

        assert stranger.poll() is None
    assert _stored(cluster.dsn) == [(42,)]


def _process_of(uid: int, gid: int) -> subprocess.Popen[str]:
    identity: dict[str, Any] = {"user": uid, "group": gid, "extra_groups": []} if os.geteuid() == 0 else {}
    return subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, text=True, cwd="/", **identity)


def test_a_stop_never_signals_a_stranger(data_dir: Path) -> None:
    """Holds by the comparison of folders in postmaster._serves."""
    embedded.ensure_running(data_dir)
    embedded.stop(data_dir)
    owner = (data_dir / "postgres").stat()
    with ended(_process_of(owner.st_uid, owner.st_gid)) as stranger:
        (data_dir / "postgres" / "postmaster.pid").write_text(f"{stranger.pid}\n")

        embedded.stop(data_dir)

        assert stranger.poll() is None


def test_an_empty_pid_file_of_a_crash_does_not_block_the_next(data_dir: Path) -> None:
    """Holds by _is_remnant in postmaster.py."""
    embedded.ensure_running(data_dir)
    embedded.stop(data_dir)
    owner = (data_dir / "postgres").stat()
    noted = data_dir / "postgres" / "postmaster.pid"
    noted.touch()
    os.chown(noted, owner.st_uid, owner.st_gid)
    os.utime(noted, (0, 0))

    embedded.ensure_running(data_dir)


def test_sessions_that_outlive_their_server_are_waited_for(data_dir: Path) -> None:
    """Holds by _PASSING in cluster.py: PostgreSQL refuses to start beside them."""
    cluster = embedded.ensure_running(data_dir)
    _store(cluster.dsn)
    with psycopg.connect(cluster.dsn) as session, ended(python(RESUME)) as resumer:
        orphan = psutil.Process(session.info.backend_pid)
        orphan.suspend()
        os.kill(postmaster_pid(data_dir), signal.SIGKILL)
        print(orphan.pid, data_dir / "postgres.log", file=resumer.stdin, flush=True)

        embedded.ensure_running(data_dir)

        assert line_from(resumer.stdout) == "resumed"
    assert _stored(cluster.dsn) == [(42,)]


RESUME = """
import os, signal, sys, time
pid, log = sys.stdin.readline().split(maxsplit=1)
while "is still in use" not in open(log.strip()).read():
    time.sleep(0.01)
os.kill(int(pid), signal.SIGCONT)
print("resumed", flush=True)
"""


def test_a_server_that_does_not_answer_is_waited_for_up_to_the_bound(data_dir: Path) -> None:
    """Holds by the deadline in cluster._pause."""
    embedded.ensure_running(data_dir)
    server = psutil.Process(postmaster_pid(data_dir))
    server.suspend()
    try:
        with pytest.raises(BackendUnavailable, match="still starting or recovering"):
            embedded.ensure_running(data_dir, timeout_s=0.5)
    finally:
        server.resume()

    embedded.ensure_running(data_dir)
    assert postmaster_pid(data_dir) == server.pid


def test_kill_9_in_the_middle_of_the_first_start_leaves_nothing_half_made(empty_dir: Path) -> None:
    """Holds by the rename at the end of making._make."""
    with ended(python(USE, empty_dir)) as starter:
        until(lambda: any(empty_dir.glob("postgres.new-*/PG_VERSION")))
        starter.kill()
        starter.wait()
    assert not (empty_dir / "postgres").exists()

    cluster = embedded.ensure_running(empty_dir)

    _store(cluster.dsn)
    assert _stored(cluster.dsn) == [(42,)]
