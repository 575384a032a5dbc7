"""The runner of migrations, on small migrations of its own and on those of this program."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from shared import migrations
from shared.errors import BackendBusy, ConfigurationError, SchemaMismatch

BLOCKED_S = 60

_ONE = "CREATE TABLE memhub.one (id int);"
_TWO = "CREATE TABLE memhub.two (id int);"

_MIGRATE_ALONE = """
import asyncio, sys
import asyncpg
from shared import migrations

async def main(url):
    connection = await asyncpg.connect(url)
    await migrations.migrate(connection, create_extension=True)
    await connection.close()

asyncio.run(main(sys.argv[1]))
print(sorted(sys.modules.keys() & {"procrastinate", "psycopg", "numpy"}))
"""


@pytest.fixture
async def empty(empty_database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(empty_database_url)
    await connection.execute("CREATE EXTENSION vector")
    yield connection
    await connection.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "0001_one.sql").write_text(_ONE)
    return tmp_path


async def test_pending_files_are_applied_in_order_once(empty: asyncpg.Connection, folder: Path) -> None:
    (folder / "0002_two.sql").write_text(_TWO)

    assert [applied.name for applied in await migrations.migrate(empty, folder=folder)] == ["one", "two"]
    assert await migrations.migrate(empty, folder=folder) == []
    await migrations.verify(empty, folder=folder)


async def test_a_failing_migration_leaves_the_earlier_ones_and_nothing_of_its_own(
    empty: asyncpg.Connection, folder: Path
) -> None:
    (folder / "0002_two.sql").write_text(_TWO + "SELECT 1/0;")
    with pytest.raises(asyncpg.DivisionByZeroError):
        await migrations.migrate(empty, folder=folder)

    assert [row.version for row in (await migrations.status(empty, folder=folder)).applied] == [1]
    assert await empty.fetchval("SELECT to_regclass('memhub.two') IS NULL")


async def test_status_of_an_empty_database_writes_nothing(empty: asyncpg.Connection, folder: Path) -> None:
    found = await migrations.status(empty, folder=folder)

    assert [migration.version for migration in found.pending] == [1]
    assert not found.applied
    assert await empty.fetchval("SELECT to_regnamespace('memhub') IS NULL")


async def test_a_database_that_is_behind_is_refused(empty: asyncpg.Connection, folder: Path) -> None:
    await migrations.migrate(empty, folder=folder)
    (folder / "0002_two.sql").write_text(_TWO)

    with pytest.raises(SchemaMismatch, match="behind this program by 1 migrations, the first is 0002_two") as told:
        await migrations.verify(empty, folder=folder)
    assert "memhub migrate" in told.value.next


async def test_a_database_that_is_ahead_is_refused_by_both(empty: asyncpg.Connection, folder: Path) -> None:
    (folder / "0002_two.sql").write_text(_TWO)
    await migrations.migrate(empty, folder=folder)
    (folder / "0002_two.sql").unlink()

    for refuse in (migrations.verify, migrations.migrate):
        with pytest.raises(SchemaMismatch, match="ahead of this program: it has migration 0002_two") as told:
            await refuse(empty, folder=folder)
        assert "memhub migrate" in told.value.next


async def test_an_edited_file_is_refused_by_both(empty: asyncpg.Connection, folder: Path) -> None:
    # Fails without the checksum: `edited` of migrations.status.
    await migrations.migrate(empty, folder=folder)
    (folder / "0001_one.sql").write_text(_ONE + "\n")

    for refuse in (migrations.verify, migrations.migrate):
        with pytest.raises(SchemaMismatch, match="0001_one was applied with another text") as told:
            await refuse(empty, folder=folder)
        assert "memhub migrate" in told.value.next


async def test_runners_at_once_apply_each_file_once(empty_database_url: str, folder: Path) -> None:
    # Fails without `_locked`: the second runner collides on the key of memhub.schema_migrations.
    runners = [await asyncpg.connect(empty_database_url) for _ in range(8)]
    await runners[0].execute("CREATE EXTENSION vector")
    applied = await asyncio.gather(*(migrations.migrate(runner, folder=folder) for runner in runners))

    assert sorted(len(each) for each in applied) == [0] * 7 + [1]
    for runner in runners:
        await runner.close()


async def test_a_runner_past_the_lock_collides_on_the_record(
    empty: asyncpg.Connection, empty_database_url: str, folder: Path
) -> None:
    # Fails when `_apply` records after it ran the file: the runners would collide on the table.
    await migrations.migrate(empty, folder=folder)
    (folder / "0002_two.sql").write_text(_TWO)
    other = await asyncpg.connect(empty_database_url)
    transaction = other.transaction()
    await transaction.start()
    two = migrations.read(folder)[1]
    await other.execute(
        "INSERT INTO memhub.schema_migrations (version, name, checksum) VALUES (2, 'two', $1)", two.checksum
    )
    await other.execute(_TWO)
    second = asyncio.create_task(migrations.migrate(empty, folder=folder))
    await _until_blocked(other, empty.get_server_pid())
    await transaction.commit()

    with pytest.raises(BackendBusy, match="past the lock"):
        await second
    await other.close()


async def test_a_runner_that_waits_too_long_is_told_so(
    empty: asyncpg.Connection, empty_database_url: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrations, "LOCK_WAIT_S", 0.05)
    other = await asyncpg.connect(empty_database_url)
    await other.execute("SELECT pg_advisory_lock(hashtextextended('memhub.schema_migrations', 0))")

    with pytest.raises(BackendBusy, match="has been migrating this database"):
        await migrations.migrate(empty, folder=folder)
    await other.close()


async def test_the_lock_is_released_after_a_failure(empty: asyncpg.Connection, folder: Path) -> None:
    (folder / "0001_one.sql").write_text("SELECT 1/0;")
    with pytest.raises(asyncpg.DivisionByZeroError):
        await migrations.migrate(empty, folder=folder)

    assert await empty.fetchval("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == 0


async def test_the_marker_applies_procrastinate_in_public_in_its_place(empty: asyncpg.Connection, folder: Path) -> None:
    after = "COMMENT ON TABLE procrastinate_jobs IS 'found by the statement after the marker';"
    (folder / "0002_jobs.sql").write_text(f"-- apply: procrastinate\n{after}")
    await migrations.migrate(empty, folder=folder)

    assert await empty.fetchval("SELECT obj_description('public.procrastinate_jobs'::regclass)") is not None


async def test_a_usable_procrastinate_of_another_program_is_kept(empty: asyncpg.Connection, folder: Path) -> None:
    await empty.execute(migrations.procrastinate_schema())
    await empty.execute("INSERT INTO procrastinate_jobs (queue_name, task_name) VALUES ('their', 'theirs')")
    (folder / "0002_jobs.sql").write_text("-- apply: procrastinate\n")
    await migrations.migrate(empty, folder=folder)

    assert await empty.fetchval("SELECT task_name FROM procrastinate_jobs") == "theirs"


@pytest.mark.parametrize(
    "missing",
    [
        "FUNCTION procrastinate_defer_jobs_v1",
        "FUNCTION procrastinate_fetch_job_v2",
        "TYPE procrastinate_job_to_defer_v1",
    ],
)
async def test_another_version_of_procrastinate_is_refused(
    empty: asyncpg.Connection, folder: Path, missing: str
) -> None:
    await empty.execute(migrations.procrastinate_schema())
    await empty.execute(f"DROP {missing} CASCADE")
    (folder / "0002_jobs.sql").write_text("-- apply: procrastinate\n")

    with pytest.raises(ConfigurationError, match="another version of procrastinate"):
        await migrations.migrate(empty, folder=folder)
    assert [row.version for row in (await migrations.status(empty, folder=folder)).applied] == [1]


async def test_an_unknown_marker_is_refused(empty: asyncpg.Connection, folder: Path) -> None:
    (folder / "0002_jobs.sql").write_text("-- apply: celery\n")

    with pytest.raises(ValueError, match="applies an unknown celery"):
        await migrations.migrate(empty, folder=folder)


async def test_a_role_without_privilege_is_told_who_may(empty: asyncpg.Connection, folder: Path, outsider: str) -> None:
    await empty.execute(f"SET ROLE {outsider}")

    with pytest.raises(ConfigurationError, match="permission denied") as told:
        await migrations.migrate(empty, folder=folder)
    assert "memhub migrate" in told.value.next


async def test_a_role_search_path_does_not_reach_a_migration(empty: asyncpg.Connection, folder: Path) -> None:
    await empty.execute("CREATE SCHEMA elsewhere; SET search_path = elsewhere")
    (folder / "0002_two.sql").write_text("CREATE TABLE two (embedding vector(3));")
    await migrations.migrate(empty, folder=folder)

    assert await empty.fetchval("SELECT to_regclass('public.two') IS NOT NULL")
    assert await empty.fetchval("SELECT current_setting('search_path')") == "elsewhere"


async def test_the_extension_may_live_in_a_schema_of_its_own(empty: asyncpg.Connection, folder: Path) -> None:
    await empty.execute('CREATE SCHEMA "Extensions"; ALTER EXTENSION vector SET SCHEMA "Extensions"')
    (folder / "0002_two.sql").write_text("CREATE TABLE memhub.two (embedding vector(3));")

    assert len(await migrations.migrate(empty, folder=folder)) == 2


@pytest.mark.parametrize("name", ["0003_gap.sql", "0001_twin.sql", "two.sql", "02_two.sql"])
def test_misnumbered_files_are_refused(folder: Path, name: str) -> None:
    (folder / name).write_text(_TWO)

    with pytest.raises(ValueError, match=r"numbered from 1|is named NNNN_name"):
        migrations.read(folder)


async def test_the_server_role_may_verify(server_connection: asyncpg.Connection) -> None:
    await migrations.verify(server_connection)


def test_migrating_imports_no_procrastinate(empty_database_url: str) -> None:
    # Fails when the schema is read by importlib.resources.files("procrastinate.sql").
    command = [sys.executable, "-c", _MIGRATE_ALONE, empty_database_url]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1])

    assert ran.stdout == "[]\n"


async def _until_blocked(observer: asyncpg.Connection, pid: int) -> None:
    async with asyncio.timeout(BLOCKED_S):
        while not await observer.fetchval("SELECT cardinality(pg_blocking_pids($1)) > 0", pid):
            pass
