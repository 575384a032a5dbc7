"""The embedded database as one file, and back: whole and checked, or not at all."""

from __future__ import annotations

import asyncio
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import asyncpg
import psutil
import pytest

from ops.backup import backup, restore
from ops.files import FileRefused, sweep
from shared import checker, embedded, migrations
from shared.errors import ConfigurationError, MemhubError
from shared.settings import Settings
from shared.status import status
from tests.memories.clients import TENANT
from tests.ops import lively, memhub

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# A worker that is alive, with a job in hand.
WORK = """
WITH worker AS (INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() + interval '1 h') RETURNING id),
     process AS (INSERT INTO memhub.fleet_workers SELECT id, 'host', 1, '{embed}', 4, now() FROM worker)
INSERT INTO procrastinate_jobs (queue_name, task_name, status, worker_id) SELECT 'embed', 'x', 'doing', id FROM worker
"""


@pytest.fixture(scope="module")
def origin() -> Iterator[Path]:
    """A data folder whose database holds a memory for everything that can happen to one; it runs."""
    folder = Path(tempfile.mkdtemp(prefix="mh-", dir="/tmp"))
    asyncio.run(_fill(embedded.ensure_running(folder / "data").dsn))
    yield folder / "data"
    embedded.stop(folder / "data")
    shutil.rmtree(folder)


async def _fill(dsn: str) -> None:
    connection = await asyncpg.connect(dsn)
    await migrations.migrate(connection)
    await connection.execute("SET ROLE memhub_server")
    for _ in range(500):
        await connection.fetchval("SELECT pg_current_xact_id()")
    await lively.live(await lively.client(connection))
    await connection.execute("RESET ROLE")
    await connection.execute(WORK)
    await connection.close()


@pytest.fixture
def target() -> Iterator[Path]:
    """A data folder that is not there yet."""
    folder = Path(tempfile.mkdtemp(prefix="mh-", dir="/tmp"))
    yield folder / "data"
    embedded.stop(folder / "data")
    shutil.rmtree(folder)


def of(data_dir: Path) -> Settings:
    return Settings(data_dir=data_dir, tenant=TENANT)


@pytest.fixture
async def file(origin: Path, tmp_path: Path) -> Path:
    assert await backup(of(origin), tmp_path / "memhub.backup") == 0
    return tmp_path / "memhub.backup"


@pytest.fixture
async def restored(target: Path, file: Path) -> AsyncIterator[asyncpg.Connection]:
    assert await restore(of(target), file) == 0
    connection = await asyncpg.connect(embedded.ensure_running(target).dsn)
    yield connection
    await connection.close()


CONTENTS = "SELECT array_agg(content ORDER BY content) FROM memhub.memory_revisions"


async def test_what_was_backed_up_is_restored(origin: Path, restored: asyncpg.Connection) -> None:
    connection = await asyncpg.connect(embedded.ensure_running(origin).dsn)
    assert await restored.fetchval(CONTENTS) == await connection.fetchval(CONTENTS)
    await connection.close()
    assert await checker.check(restored) == []
    await migrations.verify(restored)


async def test_backup_and_restore_are_told_in_the_audit(origin: Path, restored: asyncpg.Connection) -> None:
    # Fails without _TELL in either.
    events = "SELECT event FROM memhub.audit_events WHERE project_id IS NULL ORDER BY id"
    assert [row["event"] for row in await restored.fetch(events)][-1] == "restored"
    connection = await asyncpg.connect(embedded.ensure_running(origin).dsn)
    assert "backed_up" in [row["event"] for row in await connection.fetch(events)]
    await connection.close()


async def test_no_restored_event_looks_as_if_still_under_way(restored: asyncpg.Connection) -> None:
    # Fails without `release_events`: the new cluster counts its transactions from the beginning.
    late = "SELECT count(*) FROM memhub.audit_events WHERE transaction_id >= pg_snapshot_xmin(pg_current_snapshot())"
    assert await restored.fetchval(late) == 0
    guard = "SELECT tgenabled = 'O' FROM pg_trigger WHERE tgname = 'audit_events_guard'"
    assert await restored.fetchval(guard)


async def test_no_worker_of_the_other_data_folder_comes_along(origin: Path, restored: asyncpg.Connection) -> None:
    # Fails without _FORGET_WORKERS.
    connection = await asyncpg.connect(embedded.ensure_running(origin).dsn)
    assert [worker.alive for worker in (await status(connection, of(origin))).workers] == [True]
    await connection.close()

    found = await status(restored, Settings())
    assert found.workers == ()
    # The job that it had in hand has no worker, so that a tender takes it up.
    in_hand = "SELECT worker_id FROM procrastinate_jobs WHERE status = 'doing'"
    assert [row["worker_id"] for row in await restored.fetch(in_hand)] == [None]


async def test_a_data_folder_with_a_database_is_left_untouched(origin: Path, file: Path) -> None:
    # Fails without `_require_empty`, which is asked before the work and once more under the lock.
    with pytest.raises(ConfigurationError, match=r"There is a database in .* already"):
        await restore(of(origin), file)
    assert embedded.is_running(origin)


def cut(file: Path, target: Path) -> Path:
    target.write_bytes(file.read_bytes()[:-2000])
    return target


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_a_backup_that_is_broken_restores_nothing(file: Path, target: Path, tmp_path: Path) -> None:
    # Fails when `_fill` works in the place itself.
    broken = cut(file, tmp_path / "broken")
    ran = memhub.run("restore", str(broken), MEMHUB_DATA_DIR=str(target))

    assert ran.returncode == 1
    assert ran.stderr.startswith(f"memhub: {broken}: it ends too early")
    assert ran.stderr.count("\n") == 1
    assert names_in(target) == ["restore.lock"]


async def test_another_file_is_no_backup(target: Path, tmp_path: Path) -> None:
    (tmp_path / "export.jsonl").write_text("{}")

    with pytest.raises(FileRefused, match="it is no backup of memhub"):
        await restore(of(target), tmp_path / "export.jsonl")


async def test_a_backup_that_breaks_an_invariant_is_told_and_refused(
    origin: Path, target: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Fails without the checker in `_refusal`, and without that in `_fill`.
    connection = await asyncpg.connect(embedded.ensure_running(origin).dsn)
    await connection.execute("ALTER TABLE memhub.memories DISABLE TRIGGER memories_guard")
    try:
        assert await backup(of(origin), tmp_path / "unguarded") == 1
        assert "it breaks 1 invariant, first trigger memories_guard" in capsys.readouterr().err
    finally:
        await connection.execute("ALTER TABLE memhub.memories ENABLE TRIGGER memories_guard")
        await connection.close()

    with pytest.raises(FileRefused, match="breaks 1 invariant, first trigger memories_guard"):
        await restore(of(target), tmp_path / "unguarded")
    assert names_in(target) == ["restore.lock"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("UPDATE memhub.schema_migrations SET checksum = repeat('0', 64) WHERE version = 1", "0001_roles was applied"),
        ("INSERT INTO memhub.schema_migrations VALUES (9999, 'later', repeat('0', 64))", "is ahead of this program"),
        ("ALTER TABLE memhub.schema_migrations RENAME COLUMN checksum TO sum", "not have the schema of this program"),
    ],
)
async def test_a_backup_of_another_program_s_schema_is_told_and_writes_nothing_there(
    origin: Path, target: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], change: str, told: str
) -> None:
    # Fails without `refuse_strangers` in `_refusal`.
    connection = await asyncpg.connect(embedded.ensure_running(origin).dsn)
    events = await connection.fetchval("SELECT count(*) FROM memhub.audit_events")
    before = await connection.fetch("SELECT * FROM memhub.schema_migrations")
    await connection.execute(change)
    try:
        assert await backup(of(origin), tmp_path / "strange") == 1
        assert await connection.fetchval("SELECT count(*) FROM memhub.audit_events") == events
    finally:
        await connection.execute("DROP TABLE memhub.schema_migrations")
        await connection.execute(migrations._CREATE_RECORD)
        await connection.copy_records_to_table("schema_migrations", schema_name="memhub", records=before)
        await connection.close()

    err = capsys.readouterr().err
    assert err.startswith(f"memhub: {tmp_path / 'strange'}: `memhub restore` will not take it: ")
    assert told in err
    with pytest.raises(MemhubError):
        await restore(of(target), tmp_path / "strange")


async def test_a_backup_that_waits_for_migrations_is_none_that_restore_refuses(
    origin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Fails without the look at `pending`: a newer program's checker and audit would meet the older schema.
    later = migrations.Migration(9999, "later", "0" * 64, "")
    known = migrations.read()
    monkeypatch.setattr(migrations, "read", lambda _folder=None: [*known, later])
    connection = await asyncpg.connect(embedded.ensure_running(origin).dsn)
    events = await connection.fetchval("SELECT count(*) FROM memhub.audit_events")

    assert await backup(of(origin), tmp_path / "older") == 0
    assert await connection.fetchval("SELECT count(*) FROM memhub.audit_events") == events
    await connection.close()


async def test_a_restore_that_was_killed_leaves_nothing_in_the_way(file: Path, target: Path) -> None:
    # Fails without `_discard_abandoned`: its server would run on, and its folder stay.
    process = memhub.start("restore", str(file), MEMHUB_DATA_DIR=str(target))
    nascent = until_running(target)
    process.kill()
    process.communicate()
    assert not (target / "postgres").exists()

    assert await restore(of(target), file) == 0
    assert names_in(target) == ["lock", "postgres", "restore.lock"]
    assert not embedded.is_running(nascent)


@pytest.mark.parametrize("number", SIGNALS)
async def test_a_restore_that_is_interrupted_leaves_the_folder_as_it_was(
    file: Path, target: Path, number: signal.Signals
) -> None:
    # Fails without ENDING of interrupts.
    process = memhub.start("restore", str(file), MEMHUB_DATA_DIR=str(target))
    until_running(target)
    process.send_signal(number)
    _, err = process.communicate(timeout=memhub.TIMEOUT_S)

    told = "memhub: interrupted. The data folder is as it was; run it again.\n"
    assert (process.returncode, err) == (128 + number, told)
    assert names_in(target) == ["restore.lock"]


@pytest.fixture
async def dumping(origin: Path, tmp_path: Path) -> AsyncIterator[tuple[subprocess.Popen[str], psutil.Process]]:
    """A backup and its pg_dump, which waits for a table."""
    connection = await asyncpg.connect(embedded.ensure_running(origin).dsn)
    async with connection.transaction():
        await connection.execute("LOCK TABLE memhub.memories")
        process = memhub.start("backup", str(tmp_path / "one.backup"), MEMHUB_DATA_DIR=str(origin))
        async with asyncio.timeout(memhub.TIMEOUT_S):
            while not await connection.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):
                pass
        (dump,) = psutil.Process(process.pid).children()
        yield process, dump
        process.kill()
        process.communicate()
    await connection.close()


@pytest.mark.parametrize("number", SIGNALS)
async def test_a_backup_that_is_interrupted_leaves_no_file_and_no_process(
    dumping: tuple[subprocess.Popen[str], psutil.Process], tmp_path: Path, number: signal.Signals
) -> None:
    # Fails without ENDING of interrupts.
    process, dump = dumping
    process.send_signal(number)
    _, err = process.communicate(timeout=memhub.TIMEOUT_S)

    told = "memhub: interrupted. Nothing was left under the name of the file; run it again.\n"
    assert (process.returncode, err) == (128 + number, told)
    assert names_in(tmp_path) == []
    assert not dump.is_running()


async def test_the_dump_of_a_killed_backup_ends_with_it_and_the_next_one_removes_its_file(
    dumping: tuple[subprocess.Popen[str], psutil.Process], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Fails without `_die_with`, and without `sweep` in `backup` or its look at the lock.
    process, dump = dumping
    (left,) = names_in(tmp_path)
    assert left.startswith(".one.backup.memhub-passing-")
    monkeypatch.setattr("ops.files._UNLOCKED_S_MAX", 0)
    sweep(tmp_path / "any")
    assert names_in(tmp_path) == [left]

    process.kill()
    process.communicate()
    assert psutil.wait_procs([dump], timeout=memhub.TIMEOUT_S)[1] == []
    assert names_in(tmp_path) == [left]
    others = [".claude.json.memhub-backup", ".one.backup.memhub-passing-backup", ".one.backup.swp"]
    for name in others:
        (tmp_path / name).touch()
    with pytest.raises(ConfigurationError, match="There is no database"):
        await backup(of(tmp_path / "none"), tmp_path / "two.backup")

    assert names_in(tmp_path) == others


def until_running(target: Path) -> Path:
    """The folder that a restore works in, once its server has begun to start."""
    deadline = time.monotonic() + memhub.TIMEOUT_S
    while not (pids := list(target.glob("restoring-*/postgres/postmaster.pid"))):
        assert time.monotonic() < deadline
    return pids[0].parents[1]


def test_the_commands_have_their_help_and_want_a_file(tmp_path: Path) -> None:
    for command in ("backup", "restore"):
        assert memhub.run(command, "--help").returncode == 0
        assert memhub.run(command).returncode == 2


@pytest.mark.parametrize("command", ["backup", "restore"])
def test_another_database_than_the_embedded_one_is_refused(command: str, database_url: str, tmp_path: Path) -> None:
    ran = memhub.run(command, str(tmp_path / "file"), MEMHUB_DATABASE_URL=database_url)

    assert ran.returncode == 1
    assert ran.stderr.startswith("memhub: This is for the embedded database")


def test_a_backup_where_no_database_is_makes_none(tmp_path: Path) -> None:
    ran = memhub.run("backup", str(tmp_path / "file"), MEMHUB_DATA_DIR=str(tmp_path / "none"))

    assert ran.stderr.startswith("memhub: There is no database in")
    assert names_in(tmp_path) == []


def test_a_full_disk_leaves_no_backup(origin: Path, small_disk: Path) -> None:
    # Fails when pg_dump writes to the file's own name.
    ran = memhub.run("backup", str(small_disk / "file"), MEMHUB_DATA_DIR=str(origin))

    assert ran.returncode == 1
    assert ran.stderr.startswith(f"memhub: {small_disk / 'file'}: the disk is full")
    assert names_in(small_disk) == []


def test_a_folder_that_cannot_be_written_is_one_line(origin: Path) -> None:
    ran = memhub.run("backup", "/proc/none/file", MEMHUB_DATA_DIR=str(origin))

    assert ran.returncode == 1
    assert ran.stderr.count("\n") == 1
    assert ran.stderr.startswith("memhub: /proc/none/file: there is no folder /proc/none. ")
