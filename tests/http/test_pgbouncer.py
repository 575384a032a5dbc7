"""A server and the pools behind PgBouncer in transaction mode, with fewer sessions than there are clients."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import psycopg
import pytest

from shared import opening
from shared.errors import ConfigurationError
from shared.settings import Settings
from tests import bouncer
from tests.database import Cluster
from tests.http.callers import Era, client
from tests.http.processes import serving
from tests.server.processes import environment

pytestmark = pytest.mark.skipif(bouncer.program() is None, reason="pgbouncer is not installed")

CLIENTS = 12


@pytest.fixture(scope="module")
def login_role(admin: psycopg.Connection, template: str) -> str:
    """As docs/pgbouncer.md has it."""
    admin.execute("CREATE ROLE pooled_server LOGIN IN ROLE memhub_server")
    admin.execute("ALTER ROLE pooled_server SET statement_timeout = '15s'")
    return "pooled_server"


@pytest.fixture(scope="module")
def folder(cluster: Cluster, login_role: str) -> Iterator[Path]:
    with bouncer.bouncing(cluster) as folder:
        yield folder


def pooled(folder: Path, database_url: str, *, user: str) -> str:
    return bouncer.url(folder, urlsplit(database_url).path.removeprefix("/"), user=user)


async def test_many_clients_share_few_sessions_without_meeting(
    tmp_path: Path, folder: Path, login_role: str, database_url: str, era: Era
) -> None:
    # Fails with a statement cache, and with a role or a time limit that is set on the session.
    with serving(
        tmp_path,
        MEMHUB_DATABASE_URL=pooled(folder, database_url, user=login_role),
        MEMHUB_DATABASE_DIRECT_URL=database_url,
        # Twelve clients wait for two sessions: on a busy machine for longer than anybody should.
        MEMHUB_POOL_WAIT_S="60",
        MEMHUB_STATEMENT_TIMEOUT_S="60",
    ) as process:

        async def work(number: int) -> tuple[int, str]:
            async with client(process.url, era, tenant=f"t{number % 3}") as raw:
                project = f"project-{number}"
                await raw.use("project_use", project=project, create=True)
                for turn in range(3):
                    await raw.use("memory_remember", content=f"Number {number}, turn {turn}.", project=project)
                stored = await raw.use("memory_remember", content=f"Number {number}, last turn.", project=project)
                await raw.use(
                    "memory_revise",
                    memory_id=stored["memory"]["memory_id"],
                    expected_revision=1,
                    content=f"Number {number}, revised.",
                    project=project,
                )
                found = await raw.use("memory_search", query=f"number {number}", limit=50, project=project)
                history = await raw.use("memory_history", memory_id=stored["memory"]["memory_id"], project=project)
                return len(found["results"]), history["revisions"][-1]["content"]

        done = await asyncio.gather(*(work(number) for number in range(CLIENTS)))
    assert done == [(4, f"Number {number}, revised.") for number in range(CLIENTS)]


async def test_through_a_pooler_a_role_that_may_destroy_is_refused(folder: Path, database_url: str) -> None:
    settings = Settings(database_url=pooled(folder, database_url, user="postgres"), database_direct_url=database_url)
    with pytest.raises(ConfigurationError, match="logs in as postgres"):
        async with opening.opened(settings, application="test"):
            pass


async def test_the_session_of_the_pooler_keeps_nothing_of_ours(
    folder: Path, login_role: str, database_url: str
) -> None:
    settings = Settings(database_url=pooled(folder, database_url, user=login_role), database_direct_url=database_url)
    async with opening.opened(settings, application="test") as database:
        for work in ("read", "write"):
            async with database.connection(work) as connection:
                assert await connection.fetchval("SELECT $1::int", 1) == 1
    stranger = await asyncpg.connect(settings.database_url, statement_cache_size=0)
    try:
        async with stranger.transaction():
            assert await stranger.fetchval("SELECT current_user") == login_role
            assert await stranger.fetchval("SELECT count(*) FROM pg_prepared_statements WHERE name <> ''") == 0
    finally:
        await stranger.close()


def test_the_fleet_runs_through_a_pooler_and_listens_beside_it(
    tmp_path: Path, folder: Path, login_role: str, database_url: str
) -> None:
    with psycopg.connect(database_url, autocommit=True) as operator:
        operator.execute(
            "INSERT INTO procrastinate_jobs (queue_name, task_name, priority, args)"
            " VALUES ('counters', 'fold_counters', 0, '{}')"
        )
        ran = subprocess.run(
            [sys.executable, "-c", "from workers.main import main; main()", "--once", "--no-endpoint"],
            env=environment(
                tmp_path,
                MEMHUB_DATABASE_URL=pooled(folder, database_url, user=login_role),
                MEMHUB_DATABASE_DIRECT_URL=database_url,
                MEMHUB_EMBEDDING_PROVIDER="none",
            ),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        jobs = operator.execute("SELECT status::text FROM procrastinate_jobs WHERE queue_name = 'counters'").fetchall()
    assert {status for (status,) in jobs} <= {"succeeded"}
