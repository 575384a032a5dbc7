"""Purging: every copy of a memory's words and all that was derived from them, in the tables and in their files."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import asyncpg

from ops.operating import CLIENT
from shared import statements
from shared.errors import BackendBusy, ConfigurationError, MemoryNotFound

OTHERS_TOLD_MAX = 20
OLDER_SESSIONS_WAIT_S = 20.0
LOCK_WAIT_S = 30
POLL_S = 0.1

_SQL = statements.load("purge")
_FOUND = _SQL["found"]
_ALSO_SAID = _SQL["also_said"]
_LOCK_COUNTS = _SQL["lock_counts"]
_LOCK = _SQL["lock"]
_TRANSACTION = _SQL["transaction"]
_OLDER_SESSIONS = _SQL["older_sessions"]
_REWRITTEN = _SQL["rewritten"]
_SEAL_KEYS = _SQL["seal_keys"]
_TELL = _SQL["tell"]
_DROP_JOBS = _SQL["drop_jobs"]
_LOCK_TIMEOUT = f"SET lock_timeout = '{LOCK_WAIT_S}s'"

# In this order: words are looked up in the documents before those are emptied, vectors go after their copies were made.
_STEPS = tuple(
    _SQL[name]
    for name in (
        "retire",
        "hide",
        "drop_vectors",
        "drop_terms",
        "drop_work",
        "drop_totals",
        "drop_deltas",
        "empty_attestations",
        "redact_events",
        "empty_revisions",
    )
)

_AGAIN = "Run the same command again: what is destroyed stays so, and the files are rewritten."


@dataclass(frozen=True, slots=True)
class Remains:
    """What there is of a memory; no `contents` and no `beginning` of them are left when it was purged before."""

    project_id: UUID
    slug: str
    memory_id: UUID
    status: str
    created_at: datetime
    revisions: int
    contents: int
    content_bytes: int
    attestations: int
    vectors: int
    responses: int
    beginning: str | None


async def remains(connection: asyncpg.Connection, memory_ids: Sequence[UUID]) -> list[Remains]:
    """What there is of each, in any project. Raises MemoryNotFound naming those that are nowhere."""
    rows = await connection.fetch(_FOUND, list(memory_ids))
    found = [
        Remains(**{name: value for name, value in row.items() if name != "id"}, memory_id=row["id"]) for row in rows
    ]
    missing = [str(wanted) for wanted in memory_ids if wanted not in {memory.memory_id for memory in found}]
    if missing:
        raise MemoryNotFound(
            f"There is no memory {', '.join(missing)}; nothing was destroyed.", next="Take ids from memory_search."
        )
    return found


async def also_said(connection: asyncpg.Connection, memory_ids: Sequence[UUID]) -> list[UUID]:
    """Other memories that hold the very same content in one of their revisions, at most OTHERS_TOLD_MAX."""
    return [row["memory_id"] for row in await connection.fetch(_ALSO_SAID, list(memory_ids), OTHERS_TOLD_MAX)]


async def destroy(connection: asyncpg.Connection, memory_ids: Sequence[UUID]) -> str:
    """Destroys the words in the tables in one transaction, commits, and returns its id for `rewrite`.

    Waits for who counts the words of their projects, then locks the memories by project and id. Lifecycle, revisions
    without words and the audit rows stay. Raises MemoryNotFound.
    """
    ids = sorted(memory_ids)
    names = [str(memory_id) for memory_id in ids]
    async with connection.transaction():
        await connection.execute(_LOCK_COUNTS, ids)
        await connection.execute(_LOCK, ids)
        had_words = [memory.memory_id for memory in await remains(connection, ids) if memory.contents]
        for statement in _STEPS:
            await connection.execute(statement, ids)
        await connection.execute(_DROP_JOBS, names)
        await connection.execute(_SEAL_KEYS, names, secrets.token_bytes(32))
        await connection.execute(_TELL, had_words, CLIENT)
        transaction: str = await connection.fetchval(_TRANSACTION)
    return transaction


async def rewrite(connection: asyncpg.Connection, transaction: str) -> None:
    """Rewrites the tables' files and the planner's samples, so that neither holds what `destroy` destroyed.

    As the owner of the tables; other sessions wait meanwhile. Leaves the operator's role. Raises ConfigurationError
    where this role does not own them, BackendBusy where other sessions keep the old rows, or a table, in use.
    """
    await connection.execute("RESET ROLE")
    tables = await connection.fetch(_REWRITTEN)
    if not all(table["mine"] for table in tables):
        raise ConfigurationError(
            "The memories are destroyed, but the files of the tables still hold traces: this role does not own them.",
            next="Run the same command again as their owner.",
        )
    await _until_unseen(connection, transaction)
    await connection.execute(_LOCK_TIMEOUT)
    try:
        # The dead rows of a plain VACUUM stay in their pages until they are overwritten.
        for table in tables:
            await connection.execute(f"VACUUM (FULL, ANALYZE) {table['name']}")
        await connection.execute("VACUUM (FULL) pg_catalog.pg_statistic")
    except (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError):
        raise BackendBusy(
            "The memories are destroyed, but a table was in use and its file may still hold traces.", next=_AGAIN
        ) from None


async def _until_unseen(connection: asyncpg.Connection, transaction: str) -> None:
    deadline = time.monotonic() + OLDER_SESSIONS_WAIT_S
    while sessions := await connection.fetch(_OLDER_SESSIONS, transaction):
        if time.monotonic() > deadline:
            names = ", ".join(sorted({row["name"] for row in sessions}))
            raise BackendBusy(
                f"The memories are destroyed, but sessions that began before keep the old rows in the files: {names}.",
                next=f"End them. {_AGAIN}",
            )
        await asyncio.sleep(POLL_S)
