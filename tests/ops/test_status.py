"""The commands that show the fleet and its jobs, as people run them."""

from __future__ import annotations

import json
import socket

import asyncpg
import psycopg
import pytest

from tests.ops.conftest import Installation

NO_DATABASE = "postgresql://nobody@127.0.0.1:1/none"


async def _job(connection: asyncpg.Connection, status: str, error: str | None = None) -> int:
    job: int = await connection.fetchval(
        "INSERT INTO procrastinate_jobs (queue_name, task_name, status, attempts) VALUES ('embed', 'embed_revision',"
        " $1::text::procrastinate_job_status, 8) RETURNING id",
        status,
    )
    if error is not None:
        await connection.execute("INSERT INTO memhub.job_errors VALUES ($1, $2, now())", job, error)
    return job


async def test_status_shows_what_failed_and_why(
    connection: asyncpg.Connection, database_url: str, installation: Installation
) -> None:
    job = await _job(connection, "failed", "TimeoutError: [red]the model[/] was away")
    url = {"MEMHUB_DATABASE_URL": database_url}
    shown = installation.run("status", environment=url)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "none is running" in shown.stdout
    assert str(job) in shown.stdout
    assert "TimeoutError: [red]the model[/] was away" in shown.stdout
    as_json = json.loads(installation.run("status", "--json", environment=url).stdout)
    assert [(job["job_id"], job["status"]) for job in as_json["troubled_jobs"]] == [(job, "failed")]


def test_what_is_no_setting_is_named_by_a_command_once_and_beside_what_is_wrong(
    database_url: str, installation: Installation
) -> None:
    # Fails without `loaded` in run, without `unknown` in settings.load, and in both without `named`.
    odd = {"MEMHUB_DATABASE_URL": database_url, "MEMHUB_FOO": "1", "MEMHUB_TENANTS": "x"}
    ran = installation.run("status", environment=odd)
    assert (ran.returncode, ran.stderr) == (
        0,
        "memhub: warning: there is no such setting: MEMHUB_FOO, MEMHUB_TENANTS (did you mean MEMHUB_TENANT?). "
        "Correct or unset it.\n",
    )
    refused = installation.run("status", environment=odd | {"MEMHUB_TENANT": "no tenant"})
    assert refused.returncode == 1
    assert refused.stderr.startswith("memhub: MEMHUB_TENANT: ")
    assert (
        "; MEMHUB_FOO: there is no such setting; MEMHUB_TENANTS (did you mean MEMHUB_TENANT?): there is"
        in refused.stderr
    )
    assert refused.stderr.count("\n") == 1


async def test_a_health_check_says_which_worker_it_found(
    connection: asyncpg.Connection, database_url: str, installation: Installation
) -> None:
    url = {"MEMHUB_DATABASE_URL": database_url}
    absent = installation.run("status", "--here", environment=url)
    assert (absent.returncode, absent.stdout) == (1, "")
    assert absent.stderr == f"memhub: no worker of {socket.gethostname()} is alive.\n"

    await connection.execute(
        """WITH worker AS (INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now()) RETURNING id)
           INSERT INTO memhub.fleet_workers SELECT id, $1, 17, '{embed,counters}', 4, now() FROM worker""",
        socket.gethostname(),
    )
    found = installation.run("status", "--here", environment=url)
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.startswith(f"Alive: {socket.gethostname()}:17, last heard ")
    assert found.stdout.endswith(" ago, embed, counters.\n")


def test_status_and_doctor_say_alike_that_there_is_no_worker_and_no_database(
    database_url: str, installation: Installation
) -> None:
    # Fails when either has words of its own instead of those in ops/absences.
    url = {"MEMHUB_DATABASE_URL": database_url}
    for command in ("status", "doctor"):
        shown = installation.run(command, environment=url).stdout
        assert "none is running: nothing is embedded, folded or expired" in shown
        assert "Start memhub-worker, with these settings." in shown

    nowhere = {"MEMHUB_DATA_DIR": str(installation.home / "none"), "COLUMNS": "300"}
    doctor, status = (installation.run(command, environment=nowhere) for command in ("doctor", "status"))
    for told in (
        f"There is no database in {installation.home / 'none'} yet.",
        "The first client that uses it makes it",
    ):
        assert told in status.stderr
        assert told in " ".join(doctor.stdout.split())


async def test_a_failed_job_is_listed_and_put_back(
    connection: asyncpg.Connection, database_url: str, installation: Installation
) -> None:
    failed, waiting = await _job(connection, "failed", "boom"), await _job(connection, "todo")
    await _job(connection, "succeeded")
    url = {"MEMHUB_DATABASE_URL": database_url}
    listed = json.loads(installation.run("jobs", "list", "--json", environment=url).stdout)
    assert [(job["job_id"], job["status"], job["error"]) for job in listed] == [
        (waiting, "todo", None),
        (failed, "failed", "boom"),
    ]
    assert "boom" in installation.run("jobs", "list", "--state", "failed", environment=url).stdout
    retried = installation.run("jobs", "retry", str(failed), environment=url)
    assert (retried.returncode, retried.stdout) == (0, "1 put back.\n")
    status = await connection.fetchval("SELECT status::text FROM procrastinate_jobs WHERE id = $1", failed)
    assert status == "todo"


async def test_all_failed_jobs_are_put_back_and_none_of_another_program(
    connection: asyncpg.Connection, database_url: str, installation: Installation
) -> None:
    for _ in range(2):
        await _job(connection, "failed")
    await connection.execute(
        "INSERT INTO procrastinate_jobs (queue_name, task_name, status) VALUES ('theirs', 'x', 'failed')"
    )
    retried = installation.run("jobs", "retry", "--all", environment={"MEMHUB_DATABASE_URL": database_url})
    assert retried.stdout == "2 put back.\n"
    assert await connection.fetchval("SELECT count(*) FROM procrastinate_jobs WHERE status = 'failed'") == 1


async def test_a_job_that_has_not_failed_is_told_by_its_id(
    connection: asyncpg.Connection, database_url: str, installation: Installation
) -> None:
    waiting = await _job(connection, "todo")
    ran = installation.run("jobs", "retry", str(waiting), environment={"MEMHUB_DATABASE_URL": database_url})
    assert ran.returncode == 1
    assert ran.stderr == f"memhub: These have not failed, or are not there: {waiting}. See `memhub jobs list`.\n"


def test_a_role_without_permission_is_told_so_in_one_line(
    database_url: str, outsider: str, admin: psycopg.Connection, installation: Installation
) -> None:
    admin.execute(f"ALTER ROLE {outsider} LOGIN")
    url = database_url.replace("postgres@", f"{outsider}@")
    ran = installation.run("status", environment={"MEMHUB_DATABASE_URL": url})
    admin.execute(f"ALTER ROLE {outsider} NOLOGIN")
    assert ran.returncode == 1
    assert ran.stderr.startswith(f"memhub: The database gives {outsider} no permission to act as memhub_server: ")
    assert ran.stderr.count("\n") == 1


@pytest.mark.parametrize("command", [["status"], ["jobs", "list"], ["jobs", "retry", "--all"]])
@pytest.mark.parametrize("place", [{"MEMHUB_DATABASE_URL": NO_DATABASE}, {}])
def test_without_a_database_the_commands_say_so_in_one_line_and_make_none(
    command: list[str], place: dict[str, str], installation: Installation
) -> None:
    data_dir = installation.home / "data"
    ran = installation.run(*command, environment={"MEMHUB_DATA_DIR": str(data_dir)} | place)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith("memhub: ")
    assert ran.stderr.count("\n") == 1
    assert not data_dir.exists()


@pytest.mark.parametrize(
    "arguments",
    [["status", "--xml"], ["jobs", "retry"], ["jobs", "retry", "1", "--all"], ["jobs", "list", "--limit", "0"],
     ["jobs", "list", "--state", "odd"], ["up", "--port", "0"], ["hook", "nosuch"]],
)  # fmt: skip
def test_bad_arguments_are_a_usage_error(arguments: list[str], installation: Installation) -> None:
    assert installation.run(*arguments).returncode == 2


@pytest.mark.parametrize(
    "command",
    [
        ["connect"],
        ["hook"],
        ["hook", "session-start"],
        ["up"],
        ["status"],
        ["jobs"],
        ["jobs", "list"],
        ["jobs", "retry"],
    ],
)
def test_every_command_explains_itself(command: list[str], installation: Installation) -> None:
    ran = installation.run(*command, "--help")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert f"memhub {' '.join(command)}" in ran.stdout
