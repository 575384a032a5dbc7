"""The test database itself: versions, clones, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import asyncpg
import psutil
import pytest

from tests import database

_KILLED_RUN = """
import os, signal
import psutil
from tests.database import running_cluster
with running_cluster("18") as cluster:
    pid = cluster.postmaster_pid()
    print(cluster.folder, cluster.data, pid, psutil.Process(pid).ppid(), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("version", ["16", "18"])
async def test_a_cluster_runs_the_version_asked_for_and_is_gone_afterwards(version: str) -> None:
    with database.running_cluster(version) as cluster:
        connection = await asyncpg.connect(cluster.url())
        assert str(connection.get_server_version().major) == version
        await connection.close()
        postmaster = psutil.Process(cluster.postmaster_pid())
        assert postmaster.uids().real != 0

    assert not postmaster.is_running()
    assert not cluster.folder.exists()


def test_a_killed_test_run_leaves_no_server_and_no_folder() -> None:
    # Fails without the `cat` of the supervisor in tests/database.py.
    command = [sys.executable, "-c", _KILLED_RUN]
    killed = subprocess.run(command, capture_output=True, text=True, check=False, cwd=_root())
    folder, data, pid, supervisor = killed.stdout.split()

    assert killed.returncode == -signal.SIGKILL
    _wait_for_end(int(pid))
    _wait_for_end(int(supervisor))
    assert not Path(folder).exists()
    assert not Path(data).exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has folders that its PostgreSQL may not enter")
def test_binaries_out_of_reach_are_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = database.installation("18").parent
    tmp_path.chmod(0o700)
    for part in (package, package.with_name(f"{package.name}.libs")):
        (tmp_path / part.name).symlink_to(part)
    monkeypatch.syspath_prepend(tmp_path)

    with database.running_cluster("18") as cluster:
        binary = psutil.Process(cluster.postmaster_pid()).exe()

    assert binary.startswith(str(cluster.folder))
    assert not cluster.folder.exists()


async def test_each_test_has_a_database_of_its_own(connection: asyncpg.Connection, empty_database_url: str) -> None:
    await connection.execute("CREATE TABLE memhub.mark ()")
    empty = await asyncpg.connect(empty_database_url)

    assert await empty.fetchval("SELECT to_regclass('memhub.schema_migrations') IS NULL")
    await empty.close()


async def test_the_database_of_an_earlier_test_is_dropped(connection: asyncpg.Connection) -> None:
    count = await connection.fetchval("SELECT count(*) FROM pg_database WHERE datname LIKE 'test_%'")

    assert count == 1


async def test_the_server_connection_acts_as_the_server_role(server_connection: asyncpg.Connection) -> None:
    assert await server_connection.fetchval("SELECT current_user") == "memhub_server"


def _root() -> Path:
    return Path(__file__).parents[1]


def _wait_for_end(pid: int) -> None:
    try:
        psutil.Process(pid).wait(timeout=database.START_S)
    except psutil.NoSuchProcess:
        return
