"""The index of words while an import writes: merged by the batch and not row by row."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

from shared import statements

_SQL = statements.load("moving")
_GATHER = _SQL["gather_words"]
_SETTLE = _SQL["settle_words"]
_MERGE = _SQL["merge_words"]


@asynccontextmanager
async def gathering(connection: asyncpg.Connection) -> AsyncIterator[None]:
    """Settled at the end; what a killed import leaves, the fleet's collector settles."""
    await connection.execute(_GATHER)
    try:
        yield
    finally:
        if not connection.is_closed():
            await connection.execute(_SETTLE)
            await connection.execute(_MERGE)
