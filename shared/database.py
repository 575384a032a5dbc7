"""The pools of asyncpg connections, and the one translation of driver errors into the errors that callers see."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Literal, Self

import asyncpg

from shared.errors import (
    BackendBusy,
    BackendUnavailable,
    ConfigurationError,
    DeadlineExceeded,
    MemhubError,
    SchemaMismatch,
    UnknownOutcome,
)
from shared.settings import Settings, exports_traces

SERVER_ROLE = "memhub_server"

Work = Literal["read", "write"]

# A query of user text planned generically parses its tsquery again for every row (188 became 441 ms); a write of
# fixed shape is planned once, where planning it anew costs half of its time. Such a plan outlives the day when the
# tables were small, so it may not rest on them: every row that a write looks for is found by a key.
SESSIONS: Mapping[Work, Mapping[str, str]] = {
    "read": {"plan_cache_mode": "force_custom_plan", "jit": "off"},
    "write": {"plan_cache_mode": "force_generic_plan", "jit": "off", "enable_seqscan": "off"},
}

_LOST = (
    asyncpg.PostgresConnectionError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
)
_FULL = (asyncpg.TooManyConnectionsError, asyncpg.InsufficientResourcesError)
_REFUSED = (
    OSError,
    TimeoutError,
    asyncpg.CannotConnectNowError,
    asyncpg.PostgresConnectionError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.InterfaceError,
    asyncpg.ClientConfigurationError,
)
# An end before its beginning: what is written by one clock alone can be that only where the clock was set back.
_BEFORE_THE_BEGINNING = ("memory_revisions_check", "memory_revisions_order", "memories_status_agrees")
_UNMIGRATED = (asyncpg.UndefinedTableError, asyncpg.UndefinedColumnError, asyncpg.InvalidSchemaNameError)


# What tells the files below an embedded server from others that come to stand in their place; None: they are gone.
Ground = Callable[[], object | None]


@dataclass(frozen=True, slots=True)
class PoolUse:
    work: Work
    in_use: int
    idle: int
    connections_max: int


class Database:
    """One database, opened: a pool for reading and one for writing, each connection acting as memhub_server.

    A PostgreSQL whose folder is deleted notices within a minute, and commits until then to files that nobody will ever
    read. With a `ground` no call begins on such a session, and no write that ended on one is called done.
    """

    def __init__(self, pools: dict[Work, asyncpg.Pool], settings: Settings, ground: Ground | None = None) -> None:
        self._pools = pools
        self._settings = settings
        self._ground = ground
        self._stood = None if ground is None else ground()

    @classmethod
    async def open(cls, dsn: str, settings: Settings, *, application: str, ground: Ground | None = None) -> Self:
        """Pools that connect when first used; raises BackendUnavailable for a URL that the driver refuses."""
        with translated("read"):
            pools = {work: await _pool(dsn, settings, application, session) for work, session in SESSIONS.items()}
        return cls(pools, settings, ground)

    @asynccontextmanager
    async def connection(self, work: Work) -> AsyncIterator[asyncpg.Connection]:
        """A connection in no transaction; what the driver raises inside leaves as a MemhubError.

        Raises BackendBusy when none is free within the settings' pool_wait_s, BackendUnavailable when none is had,
        ConfigurationError where the URL's role may not act as memhub_server, UnknownOutcome when the files went away
        below a write.
        """
        stood = await self._stand()
        connection = await self._acquire(work)
        try:
            with translated(work):
                try:
                    yield connection
                except _LOST:
                    await self._give_up(connection)
                    raise
        finally:
            await self._pools[work].release(connection)
        if work == "write" and self._ground is not None and self._ground() != stood:
            raise _unknown()

    def use(self) -> list[PoolUse]:
        """How many connections of each pool are in use at this moment."""
        return [
            PoolUse(work, pool.get_size() - pool.get_idle_size(), pool.get_idle_size(), pool.get_max_size())
            for work, pool in self._pools.items()
        ]

    async def aclose(self) -> None:
        """Waits for the connections in use and closes all."""
        for pool in self._pools.values():
            await pool.close()

    def terminate(self) -> None:
        """Closes all connections at once, whatever they do."""
        for pool in self._pools.values():
            pool.terminate()

    async def _stand(self) -> object | None:
        """What the sessions stand on; those that stand on files which others replaced end before they are used."""
        if self._ground is None:
            return None
        found = self._ground()
        if found is None:
            raise _gone()
        if found != self._stood:
            self._stood = found
            for pool in self._pools.values():
                await pool.expire_connections()
        return found

    async def _give_up(self, lost: asyncpg.Connection) -> None:
        """What ends one session mostly ends all: each idle one would fail a call of its own before it is replaced."""
        for pool in self._pools.values():
            await pool.expire_connections()
        with suppress(asyncpg.InterfaceError):  # it left the pool by itself
            lost.terminate()

    async def _acquire(self, work: Work) -> asyncpg.Connection:
        pool = self._pools[work]
        try:
            return await pool.acquire(timeout=self._settings.pool_wait_s)
        except TimeoutError:
            if pool.get_size() < pool.get_max_size():
                raise _unavailable("it did not answer in time") from None
            raise BackendBusy(
                f"No database connection became free within {self._settings.pool_wait_s:g} s; nothing was sent.",
                next="Call again in a moment.",
            ) from None
        except _FULL:
            raise BackendBusy(
                "The database has no room for another connection; nothing was sent.", next="Call again in a moment."
            ) from None
        except asyncpg.InsufficientPrivilegeError as refused:
            raise may_not(refused) from None
        except _REFUSED as refused:
            raise _unavailable(_cause(refused)) from None


def read_only() -> BackendUnavailable:
    return BackendUnavailable(
        "The database takes no writes: it is read-only or a standby. Nothing was written.",
        next="Point MEMHUB_DATABASE_URL at the primary, or end its read-only mode.",
    )


def may_not(
    refused: asyncpg.InsufficientPrivilegeError,
    *,
    login: str = "the role of MEMHUB_DATABASE_URL",
    role: str = SERVER_ROLE,
    next: str | None = None,
) -> ConfigurationError:
    """For a login role that nobody has granted the role that its sessions act as."""
    return ConfigurationError(
        f"The database gives {login} no permission to act as {role}: {refused}.",
        next=next or f"As an administrator: GRANT {role} TO {login}.",
    )


@asynccontextmanager
async def connected(dsn: str, *, work: Work, timeout_s: float) -> AsyncIterator[asyncpg.Connection]:
    """One connection of the URL's own role, closed at the end; errors as from `Database.connection`."""
    try:
        connection = await asyncpg.connect(dsn, timeout=timeout_s)
    except _FULL:
        raise BackendBusy(
            "The database has no room for another connection; nothing was sent.", next="Call again in a moment."
        ) from None
    except _REFUSED as refused:
        raise _unavailable(_cause(refused)) from None
    try:
        with translated(work):
            yield connection
    finally:
        await connection.close()


@contextmanager
def translated(work: Work) -> Iterator[None]:
    """Turns what asyncpg raises into a MemhubError, once, by its class; a bug of ours passes unchanged."""
    try:
        yield
    except MemhubError:
        raise
    except asyncpg.QueryCanceledError:
        raise DeadlineExceeded(
            "The database cancelled the statement at its time limit; nothing was written.",
            next="Ask for less, or call again when the database is less busy.",
        ) from None
    except TimeoutError:
        if work == "write":
            raise _unknown() from None
        raise DeadlineExceeded(
            "The database did not answer within the time limit.",
            next="Ask for less, or call again when the database is less busy.",
        ) from None
    except (asyncpg.DeadlockDetectedError, *_FULL) as busy:
        raise _busy(busy) from None
    except asyncpg.ReadOnlySQLTransactionError:
        raise read_only() from None
    except (asyncpg.InsufficientPrivilegeError, asyncpg.CheckViolationError) as refused:
        unavailable = _refused(refused)
        if unavailable is None:
            raise
        raise unavailable from None
    except asyncpg.UndefinedFileError:
        raise _gone() from None
    except _UNMIGRATED:
        raise SchemaMismatch(
            "The database does not have the schema of this program.", next="Run `memhub migrate`."
        ) from None
    except _LOST as lost:
        if work == "read":
            raise _unavailable(_cause(lost)) from None
        raise _unknown() from None


async def _pool(dsn: str, settings: Settings, application: str, session: Mapping[str, str]) -> asyncpg.Pool:
    bounds = {
        "min_size": 0,
        "max_size": settings.pool_connections_max,
        "timeout": settings.connect_timeout_s,
        "connection_class": _connection_class(),
    }
    if settings.is_pooled:
        # Without a cache asyncpg parses, binds and runs a statement in one exchange, which a pooler never splits.
        return await asyncpg.create_pool(
            dsn,
            **bounds,
            reset=_keep_state,
            statement_cache_size=0,
            command_timeout=settings.statement_timeout_s,
            server_settings={"application_name": application},
        )
    return await asyncpg.create_pool(
        dsn,
        **bounds,
        init=_act_as_server,
        reset=_keep_state,
        server_settings={
            "application_name": application,
            "statement_timeout": f"{settings.statement_timeout_s:g}s",
            **session,
        },
    )


def _connection_class() -> Any:
    if not exports_traces():
        return asyncpg.Connection
    from shared.tracing.connection import TracedConnection  # noqa: PLC0415 - only a process that traces pays for it

    return TracedConnection


async def _act_as_server(connection: asyncpg.Connection) -> None:
    await act_as(connection, SERVER_ROLE)


async def act_as(connection: asyncpg.Connection, role: str) -> None:
    """Raises InsufficientPrivilegeError where the URL's role was not granted it."""
    await connection.execute(f"SET ROLE {role}")


async def _keep_state(_connection: asyncpg.Connection) -> None:
    """Our connections keep no state: the default reset costs more than a query (0.27 against 0.10 ms)."""


def _busy(refused: asyncpg.PostgresError) -> BackendBusy:
    if isinstance(refused, asyncpg.DeadlockDetectedError):
        return BackendBusy(
            "Another writer and this one waited for each other; nothing was written.", next="Call again in a moment."
        )
    return BackendBusy(
        f"The database is out of resources ({type(refused).__name__}); nothing was written.",
        next="Free disk or memory on its machine, then call again.",
    )


def _unknown() -> UnknownOutcome:
    return UnknownOutcome(
        "The connection died while the write was under way: it is whole or absent, and this answer cannot tell.",
        next="Replay with the same client_request_id, or read memory_search or memory_history again.",
    )


def _gone() -> BackendUnavailable:
    return BackendUnavailable(
        "The files of the database are gone: its folder was deleted, moved or damaged under it. Nothing was written.",
        next="Move its folder back, or bring a backup there with `memhub restore`: what runs now uses it then.",
    )


def _refused(refused: asyncpg.PostgresError) -> BackendUnavailable | None:
    """None for a refusal that is a bug of ours."""
    if isinstance(refused, asyncpg.InsufficientPrivilegeError):
        return BackendUnavailable(
            f"The database refuses what this program needs: {refused}. Nothing was written.",
            next="Give the role back what was revoked from it.",
        )
    if refused.constraint_name in _BEFORE_THE_BEGINNING:
        return BackendUnavailable(
            "The database's clock stands before what this memory says already: it was set back. Nothing was written.",
            next="Set the clock of its machine right, or call again when it has caught up.",
        )
    return None


def _unavailable(cause: str) -> BackendUnavailable:
    return BackendUnavailable(
        f"The database cannot be reached: {cause}. Nothing was written.",
        next="Call again in a moment; `memhub doctor` says what is wrong.",
    )


def _cause(failure: BaseException) -> str:
    return (str(failure) or type(failure).__name__).split("\n")[0]
