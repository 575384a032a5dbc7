"""The fixtures every test shares: one cluster per test process, one fresh database per test."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator

import asyncpg
import psycopg
import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from shared import migrations
from tests.database import Cluster, Databases, running_cluster

TEMPLATE = "memhub_template"

# Each takes half a minute or more.
LONGEST = (
    "tests/eval/test_run.py",
    "tests/workers/test_processes.py",
    "tests/ops/test_command_faults.py",
    "tests/server/test_lifecycle.py",
    "tests/workers/test_reembed.py",
    "tests/http/test_auth.py",
    "tests/dashboard/test_browser.py",
    "tests/server/test_end_to_end.py",
    "tests/workers/test_detached.py",
    "tests/soak/test_restart.py",
)


# How long an example takes says something of the machine. Before the tests are read: they inherit it there.
hypothesis_settings.register_profile(
    "patient", parent=hypothesis_settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
hypothesis_settings.load_profile("patient")


def pytest_configure() -> None:
    """Every program of a test starts with the signals of a terminal's, however the run itself was started.

    A shell script ignores SIGINT for what it starts with `&`, nohup SIGHUP, and who is started inherits that. A handler
    is not inherited: this process goes on as it was told, but for SIGINT, of which a run may be ended too.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda _number, _frame: None)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """PostgreSQL 18, or the version of MEMHUB_TEST_POSTGRES.

    Each xdist worker has its own: 0.8 s beside a shared one's locks and owner.
    """
    with running_cluster(os.environ.get("MEMHUB_TEST_POSTGRES", "18")) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def admin(cluster: Cluster) -> Iterator[psycopg.Connection]:
    with psycopg.connect(cluster.url(), autocommit=True) as admin:
        yield admin


@pytest.fixture(scope="session")
def template(cluster: Cluster, admin: psycopg.Connection) -> str:
    admin.execute(f"CREATE DATABASE {TEMPLATE}")
    asyncio.run(_migrate(cluster.url(TEMPLATE)))
    return TEMPLATE


async def _migrate(url: str) -> None:
    connection = await asyncpg.connect(url)
    await migrations.migrate(connection, create_extension=True)
    await connection.close()


@pytest.fixture(scope="session")
def databases(cluster: Cluster, admin: psycopg.Connection) -> Databases:
    return Databases(cluster, admin)


@pytest.fixture
def empty_database_url(databases: Databases) -> Iterator[str]:
    """A database of this test alone, without schema and extension."""
    with databases.fresh(source="template0") as url:
        yield url


@pytest.fixture
def database_url(databases: Databases, template: str) -> Iterator[str]:
    """A migrated database of this test alone; the user in the URL owns it."""
    with databases.fresh(source=template) as url:
        yield url


@pytest.fixture
async def connection(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    """A session of the schema's owner."""
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close()


@pytest.fixture
async def server_connection(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    """A session that acts as the role of servers and workers."""
    connection = await asyncpg.connect(database_url)
    await connection.execute("SET ROLE memhub_server")
    yield connection
    await connection.close()


@pytest.fixture(scope="session")
def outsider(admin: psycopg.Connection) -> str:
    """A role that owns nothing."""
    admin.execute("CREATE ROLE outsider NOLOGIN")
    return "outsider"


def pytest_xdist_auto_num_workers() -> int:
    """Half as many again as there are cores: two fifths of what a test takes are waits."""
    return len(os.sched_getaffinity(0)) * 3 // 2


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Brings what takes long to the front: each worker takes the next file, and none is left with a long one alone."""
    places = {file: place for place, file in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.nodeid.partition("::")[0], len(places)))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Under CI=true a skipped test fails the run: there the machine lacks nothing."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") == "true" and reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
