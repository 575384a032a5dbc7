"""A session of the operator: what purge, export, import and the commands for tokens act as."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager

import asyncpg

from ops.reaching import reached
from shared.database import translated
from shared.errors import UnknownOutcome
from shared.opening import prepare
from shared.settings import Settings

OPERATOR_ROLE = "memhub_operator"
CLIENT = "memhub"

_BECOME = f"SET ROLE {OPERATOR_ROLE}"


@asynccontextmanager
async def operating(settings: Settings, *, create: bool = False, again: str) -> AsyncIterator[asyncpg.Connection]:
    """A connection that acts as memhub_operator on a database at this program's schema; times are in UTC.

    An embedded database that is not there is made only with `create`. `again` tells what to do when the connection
    dies on the way. Raises ConfigurationError, BackendUnavailable, SchemaMismatch, UnknownOutcome.
    """
    with ExitStack() as lease:
        dsn = await reached(settings, lease, create=create)
        await prepare(dsn, own=settings.database_url is None, role=OPERATOR_ROLE)
        with _explained(again):
            connection = await asyncpg.connect(
                dsn,
                timeout=settings.connect_timeout_s,
                server_settings={"application_name": "memhub", "timezone": "UTC", "jit": "off"},
            )
            try:
                await connection.execute(_BECOME)
                yield connection
            finally:
                await connection.close()


@contextmanager
def _explained(again: str) -> Iterator[None]:
    try:
        with translated("write"):
            yield
    except UnknownOutcome:
        raise UnknownOutcome("The connection died while the write was under way.", next=again) from None
