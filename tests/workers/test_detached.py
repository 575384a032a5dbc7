"""The embedded mode: one detached worker beside the servers of a data folder, and a database that comes and goes."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import NoReturn
from urllib.parse import quote

import asyncpg
import psutil
import pytest

from shared import embedded, fleet, opening
from shared.errors import BackendUnavailable
from shared.settings import Settings
from tests.workers.processes import QUICK, environment, stopped, worker
from tests.workers.waiting import POLL_S, WAIT_S, until
from workers import supervisor

REGISTERED = "SELECT EXISTS (SELECT FROM memhub.fleet_workers)"
ONLY_UPKEEP = {"MEMHUB_EMBEDDING_PROVIDER": "none"}


@pytest.fixture(scope="module")
def made() -> Iterator[Path]:
    """A data folder whose database was made and migrated once, and stopped."""
    with tempfile.TemporaryDirectory(prefix="mh-", dir="/tmp") as name:
        with embedded.attach(Path(name)) as cluster:
            asyncio.run(opening.prepare(cluster.dsn, own=True))
        embedded.stop(Path(name))
        yield Path(name)


@pytest.fixture
def data_dir(data_dir: Path, made: Path) -> Path:
    """A data folder with that database, copied: making one costs ten times as much."""
    put(made, data_dir / "postgres")
    return data_dir


def put(made: Path, place: Path) -> None:
    subprocess.run(["cp", "-a", made / "postgres", place], check=True)


@pytest.fixture
def cluster(data_dir: Path) -> Iterator[embedded.Cluster]:
    """An embedded database that a lease of this test keeps running."""
    with embedded.attach(data_dir) as cluster:
        yield cluster
    if fleet.worker_log(data_dir).exists():
        print(fleet.worker_log(data_dir).read_text())  # pytest shows it when the test failed
    for process in workers_of(data_dir):
        # Its last lease is gone, and with it the worker's reason to stay.
        with suppress(psutil.NoSuchProcess):
            process.kill()
            process.wait(WAIT_S)
    embedded.stop(data_dir)


@pytest.fixture
async def session(cluster: embedded.Cluster) -> AsyncIterator[asyncpg.Connection]:
    session = await asyncpg.connect(cluster.dsn)
    yield session
    await session.close()


@pytest.fixture
def quick(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings of a server without MEMHUB_DATABASE_URL; the worker that it starts inherits them."""
    for name, value in (QUICK | ONLY_UPKEEP | {"MEMHUB_WORKER_IDLE_S": "1"}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(fleet, "START_INTERVAL_S", 0.0)
    return Settings(data_dir=data_dir)


def workers_of(data_dir: Path) -> list[psutil.Process]:
    """The detached workers that hold the lock of the folder."""
    found = []
    for process in psutil.process_iter():
        try:
            if "--detached" in process.cmdline() and process.cwd() == str(data_dir):
                found.append(process)
        except psutil.Error:
            continue
    return found


async def registered(cluster: embedded.Cluster) -> None:
    """Waits until a worker has come to work."""
    session = await asyncpg.connect(cluster.dsn)
    await until(session, REGISTERED)
    await session.close()


async def eventually(condition: Callable[[], bool]) -> None:
    deadline = asyncio.get_running_loop().time() + WAIT_S
    while not await asyncio.to_thread(condition):
        assert asyncio.get_running_loop().time() < deadline
        await asyncio.sleep(POLL_S)


async def test_many_servers_start_one_worker(data_dir: Path, quick: Settings, session: asyncpg.Connection) -> None:
    # Fails without the lock that is taken in `ensure_worker` and inherited by the worker.
    assert not fleet.is_worker_alive(data_dir)
    with ThreadPoolExecutor(8) as servers:
        started = list(servers.map(lambda _: fleet.ensure_worker(data_dir, quick), range(8)))

    assert sorted(started) == [False] * 7 + [True]
    assert fleet.is_worker_alive(data_dir)
    await until(session, REGISTERED)
    assert len(workers_of(data_dir)) == 1


async def test_a_worker_is_no_child_and_holds_none_of_our_streams(
    data_dir: Path, quick: Settings, session: asyncpg.Connection
) -> None:
    fleet.ensure_worker(data_dir, quick)
    await until(session, REGISTERED)
    [process] = workers_of(data_dir)

    assert process.ppid() != os.getpid()
    assert os.getsid(process.pid) != os.getsid(0)
    streams = [os.readlink(f"/proc/{process.pid}/fd/{number}") for number in range(3)]
    assert streams == ["/dev/null", *[str(fleet.worker_log(data_dir))] * 2]


async def test_a_worker_that_was_killed_is_noticed_and_started_again(
    data_dir: Path, quick: Settings, session: asyncpg.Connection
) -> None:
    fleet.ensure_worker(data_dir, quick)
    await until(session, REGISTERED)
    [process] = workers_of(data_dir)
    assert not fleet.ensure_worker(data_dir, quick)
    process.send_signal(signal.SIGKILL)
    await eventually(lambda: fleet.ensure_worker(data_dir, quick))

    await until(session, "SELECT bool_or(pid <> $1) FROM memhub.fleet_workers", process.pid)


async def test_a_worker_that_just_started_and_died_is_not_started_again_at_once(
    data_dir: Path, quick: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet, "START_INTERVAL_S", 3_600.0)
    monkeypatch.setenv("MEMHUB_LOG_LEVEL", "NONSENSE")
    assert fleet.ensure_worker(data_dir, quick)
    await eventually(lambda: not fleet.is_worker_alive(data_dir))

    assert not fleet.ensure_worker(data_dir, quick)
    assert "MEMHUB_LOG_LEVEL" in fleet.worker_log(data_dir).read_text()


def test_with_an_external_database_none_is_ever_started(data_dir: Path) -> None:
    settings = Settings(data_dir=data_dir, database_url="postgresql://localhost/memhub")

    assert not fleet.ensure_worker(data_dir, settings)
    assert not fleet.worker_lock(data_dir).exists()


async def test_the_worker_ends_after_the_last_server_and_stops_its_database(data_dir: Path, quick: Settings) -> None:
    with embedded.attach(data_dir) as cluster:
        fleet.ensure_worker(data_dir, quick)
        await registered(cluster)
    await eventually(lambda: not fleet.is_worker_alive(data_dir))

    assert not embedded.is_running(data_dir)
    assert workers_of(data_dir) == []


async def test_a_worker_that_is_told_to_stop_leaves_no_database_that_nobody_uses(
    data_dir: Path, quick: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Fails without stop_if_idle at the end of `run`: nobody was left to stop it.
    monkeypatch.setenv("MEMHUB_WORKER_IDLE_S", "600")
    with embedded.attach(data_dir) as cluster:
        await _told_to_stop(data_dir, quick, cluster, within=True)
        assert embedded.is_running(data_dir)
    await _told_to_stop(data_dir, quick, cluster, within=False)
    await eventually(lambda: not embedded.is_running(data_dir))


async def _told_to_stop(data_dir: Path, settings: Settings, cluster: embedded.Cluster, *, within: bool) -> None:
    """Ends a worker that has come to work, `within` the lease of its caller or without one."""
    with embedded.attach(data_dir) if not within else nullcontext():
        fleet.ensure_worker(data_dir, settings)
        await eventually(lambda: len(workers_of(data_dir)) == 1)
        [process] = workers_of(data_dir)
        session = await asyncpg.connect(cluster.dsn)
        await until(session, "SELECT bool_or(pid = $1) FROM memhub.fleet_workers", process.pid)
        await session.close()
    process.terminate()
    await eventually(lambda: not fleet.is_worker_alive(data_dir))


async def test_a_database_that_is_moved_away_ends_and_the_one_in_its_place_is_served(
    data_dir: Path, quick: Settings, made: Path
) -> None:
    # Fails without `ground.look` in `_watch`: the worker goes on where the folder went, and what was put in its place
    # is never embedded.
    with embedded.attach(data_dir) as cluster:
        fleet.ensure_worker(data_dir, quick)
        await registered(cluster)
        (pid,) = {process.pid for process in workers_of(data_dir)}
        await eventually(lambda: "database_watched" in fleet.worker_log(data_dir).read_text())
        # Whole before it is in its place: the worker may look there at any time.
        await asyncio.to_thread(put, made, data_dir / "next")
        (data_dir / "postgres").rename(data_dir / "elsewhere")
        (data_dir / "next").rename(data_dir / "postgres")
        await eventually(lambda: not (data_dir / "elsewhere" / "postmaster.pid").exists())

        await asyncio.to_thread(embedded.ensure_running, data_dir)
        session = await asyncpg.connect(cluster.dsn)
        await until(session, "SELECT bool_or(pid = $1) FROM memhub.fleet_workers", pid)
        await session.close()
    await eventually(lambda: not fleet.is_worker_alive(data_dir))
    assert "database_taken_away" in fleet.worker_log(data_dir).read_text()


async def test_a_worker_that_drains_leaves_no_database_that_nobody_uses(data_dir: Path) -> None:
    # Fails without `_leave` at the end of `once`.
    with worker("--once", environment=environment("", data_dir, **ONLY_UPKEEP)) as running:
        assert await asyncio.to_thread(running.wait, WAIT_S) == 0

    assert "database system is ready" in (data_dir / "postgres.log").read_text()
    assert not embedded.is_running(data_dir)


async def test_a_worker_in_the_foreground_leaves_no_database_that_nobody_uses(data_dir: Path) -> None:
    # Fails without `_leave` at the end of `run`.
    with worker(environment=environment("", data_dir, **ONLY_UPKEEP)) as running:
        await registered(await asyncio.to_thread(embedded.ensure_running, data_dir))
        running.send_signal(signal.SIGINT)
        assert await asyncio.to_thread(running.wait, WAIT_S) == 0

    assert not embedded.is_running(data_dir)


@pytest.mark.parametrize("arguments", [("--once",), ()], ids=["once", "until told"])
async def test_a_worker_that_the_schema_refuses_leaves_no_database_either(
    data_dir: Path, quick: Settings, arguments: tuple[str, ...]
) -> None:
    # Fails when `_leave` stands behind a success alone.
    with embedded.attach(data_dir) as cluster:
        session = await asyncpg.connect(cluster.dsn)
        await session.execute("INSERT INTO memhub.schema_migrations SELECT 9999, 'later', checksum, applied_at"
                              " FROM memhub.schema_migrations LIMIT 1")  # fmt: skip
        await session.close()
    with worker(*arguments, environment=environment("", data_dir, **ONLY_UPKEEP)) as running:
        assert await asyncio.to_thread(running.wait, WAIT_S) == 1

    assert not embedded.is_running(data_dir)


async def test_a_folder_that_cannot_be_looked_at_is_not_taken_for_gone(
    data_dir: Path, quick: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Fails without `_may_be_there` of GroundWatch: a file system that hesitates would cost a healthy server.
    with embedded.attach(data_dir):
        ground = embedded.GroundWatch(data_dir)
        assert not ground.look()
        monkeypatch.setattr(os, "stat", unlooked)
        assert not ground.look()
        monkeypatch.undo()
        assert not ground.look()
        assert embedded.is_running(data_dir)


def unlooked(*_arguments: object, **_options: object) -> NoReturn:
    raise PermissionError


async def test_a_worker_beside_another_leaves_the_database_to_it(
    data_dir: Path, quick: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Fails without is_worker_alive in `_leave`: the other one lost its database, and started it again.
    monkeypatch.setenv("MEMHUB_WORKER_IDLE_S", "600")
    with embedded.attach(data_dir) as cluster:
        fleet.ensure_worker(data_dir, quick)
        await registered(cluster)
    [other] = workers_of(data_dir)
    with worker("--once", environment=environment("", data_dir, **ONLY_UPKEEP)) as running:
        await asyncio.to_thread(running.wait, WAIT_S)

    assert embedded.is_running(data_dir)
    other.terminate()
    await eventually(lambda: not fleet.is_worker_alive(data_dir))
    await eventually(lambda: not embedded.is_running(data_dir))


@pytest.mark.parametrize("url", [None, "postgresql://localhost/memhub"], ids=["embedded", "external"])
async def test_a_database_that_cannot_be_stopped_is_left(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch, url: str | None
) -> None:
    # Fails without the suppress in `_leave`, and without the look at database_url there.
    asked: list[Path] = []

    def busy(folder: Path) -> bool:
        asked.append(folder)
        raise BackendUnavailable("Another process is at it.", next="Wait.")

    monkeypatch.setattr(supervisor, "stop_if_idle", busy)
    await supervisor._leave(Settings(data_dir=data_dir, database_url=url), detached=False)
    assert asked == ([data_dir] if url is None else [])


async def test_a_worker_stays_as_long_as_a_server_is_there(
    data_dir: Path, quick: Settings, session: asyncpg.Connection
) -> None:
    # Fails without IdleWatch in `_watch`: it would leave, find the lease and come back as another worker.
    fleet.ensure_worker(data_dir, quick)
    await until(session, REGISTERED)
    began = await session.fetchrow("SELECT now() AS at, max(worker_id) AS worker_id FROM memhub.fleet_workers")
    await until(session, "SELECT clock_timestamp() > $1::timestamptz + interval '3 s'", began["at"])

    assert fleet.is_worker_alive(data_dir)
    assert await session.fetchval("SELECT array_agg(worker_id) FROM memhub.fleet_workers") == [began["worker_id"]]


async def test_a_worker_that_serves_shows_itself_to_servers(
    data_dir: Path, quick: Settings, session: asyncpg.Connection
) -> None:
    settings = environment("", data_dir, **ONLY_UPKEEP)
    with worker(environment=settings):
        await until(session, REGISTERED)

        assert not fleet.ensure_worker(data_dir, quick)


@pytest.mark.parametrize("mode", ["embedded", "external"])
async def test_a_worker_comes_back_when_its_database_restarts(
    data_dir: Path, cluster: embedded.Cluster, session: asyncpg.Connection, mode: str
) -> None:
    # Fails without the loop in `_work`: procrastinate's worker ends, without an error, when it loses the database.
    socket = quote(str(cluster.socket_dir), safe="")
    url = f"postgresql://memhub@{socket}/memhub" if mode == "external" else ""
    log = data_dir / "test.log"
    with worker(environment=environment(url, data_dir, **ONLY_UPKEEP), log=log) as running:
        await until(session, REGISTERED)
        first = await session.fetchval("SELECT max(worker_id) FROM memhub.fleet_workers")
        await asyncio.to_thread(embedded.stop, data_dir)
        await eventually(lambda: b"database_lost" in log.read_bytes())
        if mode == "external":
            await asyncio.to_thread(embedded.ensure_running, data_dir)
        await eventually(lambda: embedded.is_running(data_dir))
        again = await asyncpg.connect(cluster.dsn)
        await until(again, "SELECT bool_or(worker_id > $1) FROM memhub.fleet_workers", first)
        runs = await again.fetchval("SELECT coalesce(max(id), 0) FROM memhub.fleet_runs")
        await until(again, "SELECT max(id) > $1 FROM memhub.fleet_runs", runs)
        await again.close()

        assert running.poll() is None


async def test_a_worker_whose_first_database_is_taken_away_makes_no_other_and_goes_on_when_it_is_back(
    data_dir: Path, quick: Settings
) -> None:
    # Fails without _until_there, and where what was there is not learnt from the shift that made it.
    place, elsewhere, log = data_dir / "postgres", data_dir / "elsewhere", data_dir / "test.log"
    shutil.rmtree(place)
    with worker(environment=environment("", data_dir, **ONLY_UPKEEP), log=log) as running:
        await eventually(lambda: b"worker_started" in log.read_bytes())
        dsn = (await asyncio.to_thread(embedded.ensure_running, data_dir)).dsn
        server = int((place / "postmaster.pid").read_text().split()[0])
        place.rename(elsewhere)
        with suppress(ProcessLookupError):
            os.kill(server, signal.SIGINT)
        await eventually(lambda: b"database_missing" in log.read_bytes())
        assert not place.exists()

        elsewhere.rename(place)
        await eventually(lambda: log.read_bytes().count(b"worker_started") == 2)
        session = await asyncpg.connect(dsn)
        await until(session, "SELECT bool_or(pid = $1) FROM memhub.fleet_workers", running.pid)
        await session.close()
        assert await stopped(running) == 0
