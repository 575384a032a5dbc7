"""Opening the database of the settings: the one at a URL as it is, the embedded one started and migrated."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from functools import partial

import anyio.to_thread
import asyncpg

from shared import migrations, statements
from shared.database import SERVER_ROLE, Database, Ground, act_as, connected, may_not
from shared.errors import ConfigurationError
from shared.settings import Settings

CONNECT_S = 10

_SQL = statements.load("opening")
_LOGIN_ROLE = _SQL["login_role"]
_LOGIN = _SQL["login"]


@asynccontextmanager
async def opened(settings: Settings, *, application: str) -> AsyncIterator[Database]:
    """The database, checked to be at this program's schema; its pools are closed at the end of the block.

    An embedded one is not stopped for idleness inside the block. Raises BackendUnavailable, ConfigurationError and
    SchemaMismatch.
    """
    with ExitStack() as lease:
        dsn = settings.direct_url
        if dsn is None:
            dsn = await anyio.to_thread.run_sync(attach, settings, lease)
        own = settings.database_url is None
        await prepare(dsn, own=own, role=None if settings.is_pooled else SERVER_ROLE)
        database = await Database.open(
            settings.database_url or dsn,
            settings,
            application=application,
            ground=_ground(settings) if own else None,
        )
        try:
            if settings.is_pooled:
                await _refuse_owner(database)
            yield database
        finally:
            await database.aclose()


def _ground(settings: Settings) -> Ground:
    from shared.embedded import folder  # noqa: PLC0415 - only a process with an embedded database pays for it

    return partial(folder.identity, folder.locate(settings.data_dir).cluster)


async def _refuse_owner(database: Database) -> None:
    """Behind a pooler no role can be set: what holds servers back must be the login role's own rights."""
    async with database.connection("read") as connection:
        role = await connection.fetchrow(_LOGIN_ROLE)
    if role["may_destroy"]:
        raise ConfigurationError(
            f"MEMHUB_DATABASE_URL logs in as {role['name']}, which may delete what was said.",
            next="Let it log in as a role that is only a member of memhub_server (see docs/pgbouncer.md).",
        )


async def prepare(dsn: str, *, own: bool, role: str | None = SERVER_ROLE) -> None:
    """Migrates a database that is our own, verifies any other, and that sessions may act as `role`.

    Raises BackendUnavailable where there is none, SchemaMismatch, ConfigurationError for a login role that may not.
    """
    async with connected(dsn, work="read", timeout_s=CONNECT_S) as connection:
        if own:
            await migrations.migrate(connection)
        else:
            await _verify(connection, role)
        if role is not None:
            await _become(connection, role)


async def _verify(connection: asyncpg.Connection, role: str | None) -> None:
    """As the login role, which may be told to migrate; one that inherits nothing may read the schema as `role` only."""
    try:
        await migrations.verify(connection)
        return
    except asyncpg.InsufficientPrivilegeError as refused:
        if role is None:
            raise await _may_not(connection, refused, SERVER_ROLE) from None
    await _become(connection, role)
    await migrations.verify(connection)


async def _become(connection: asyncpg.Connection, role: str) -> None:
    try:
        await act_as(connection, role)
    except asyncpg.InsufficientPrivilegeError as refused:
        raise await _may_not(connection, refused, role) from None


async def _may_not(
    connection: asyncpg.Connection, refused: asyncpg.InsufficientPrivilegeError, role: str
) -> ConfigurationError:
    """An operator may purge: the role of servers, or of anybody else, is not advised to become one."""
    login = await connection.fetchrow(_LOGIN)
    if role == SERVER_ROLE or login["owns"]:
        return may_not(refused, login=login["name"], role=role)
    return may_not(refused, login=login["name"], role=role, next="Run it with the URL of the schema's owner.")


def attach(settings: Settings, lease: ExitStack) -> str:
    """The DSN of the embedded database, running and kept running as long as `lease` is open; blocks."""
    from shared.embedded import attach  # noqa: PLC0415 - only a process with an embedded database pays for it

    return lease.enter_context(attach(settings.data_dir)).dsn


def borrow(settings: Settings, lease: ExitStack) -> str:
    """`attach` for a command that ends soon: what it had to start is stopped again, unless somebody uses it."""
    from shared.embedded import is_running, stop_if_idle  # noqa: PLC0415 - only a process with an embedded database pays for it

    if not is_running(settings.data_dir):
        lease.callback(stop_if_idle, settings.data_dir)  # before the lease, so after its end
    return attach(settings, lease)
