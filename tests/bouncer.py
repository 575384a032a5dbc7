"""A PgBouncer in transaction mode before the cluster of the tests."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg

from tests.database import Cluster

START_S = 120
SESSIONS = 2
"""Fewer than clients, so that every session is shared."""

_SETTINGS = """
[databases]
* = host={cluster} pool_size={sessions}
[pgbouncer]
listen_port = 5432
unix_socket_dir = {folder}
auth_type = trust
auth_file = {folder}/users
pool_mode = transaction
max_client_conn = 500
logfile = {folder}/log
pidfile = {folder}/pid
"""


def program() -> str | None:
    return shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


@contextmanager
def bouncing(cluster: Cluster) -> Iterator[Path]:
    """The folder of its socket."""
    found = program()
    assert found is not None
    folder = Path(tempfile.mkdtemp(prefix="mh-", dir="/tmp"))
    settings = folder / "ini"
    settings.write_text(_SETTINGS.format(cluster=cluster.folder, sessions=SESSIONS, folder=folder))
    (folder / "users").write_text('"pooled_server" ""\n"postgres" ""\n')
    run_as = _unprivileged(folder)
    process = subprocess.Popen(
        [found, "--quiet", str(settings)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/tmp", **run_as
    )
    try:
        _wait_until_ready(process, folder)
        yield folder
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder)


def url(folder: Path, database: str, *, user: str) -> str:
    return f"postgresql://{user}@{quote(str(folder), safe='')}/{database}"


def _unprivileged(folder: Path) -> dict[str, Any]:
    """PgBouncer refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    for path in (folder, *folder.iterdir()):
        os.chown(path, nobody.pw_uid, nobody.pw_gid)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _wait_until_ready(process: subprocess.Popen[bytes], folder: Path) -> None:
    deadline = time.monotonic() + START_S
    while not _accepts(folder):
        assert process.poll() is None, (folder / "log").read_text()
        assert time.monotonic() < deadline, (folder / "log").read_text()
        time.sleep(0.02)


def _accepts(folder: Path) -> bool:
    try:
        psycopg.connect(url(folder, "postgres", user="postgres")).close()
    except psycopg.OperationalError:
        return False
    return True
