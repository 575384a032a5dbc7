"""The bounds of what the embedder does in one go: pages, batches and renewals."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import count
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from shared.database import Database
from shared.domain import Memory, ProjectScope
from shared.embedding import owing
from shared.embedding.owing import Connect, owe, owe_past
from shared.memories import remember as remembering
from shared.memories.forget import forget
from shared.outbox import SWEEP_TASK
from shared.settings import Settings
from tests.workers.conftest import AUTHOR, Write
from tests.workers.fake import FakeEmbedder
from tests.workers.waiting import until
from workers import embedder as embedding
from workers.embedder import EmbedderActor
from workers.leases import Leases
from workers.shelf import Shelf

WORK = "SELECT count(*) FROM memhub.embedding_work"
WRITTEN_MAX = 20


def before_each(database: Database, act: Callable[[], Awaitable[object]]) -> Connect:
    """Connections as the embedder takes them, one a page, each preceded by the act."""

    @asynccontextmanager
    async def connect() -> AsyncIterator[asyncpg.Connection]:
        await act()
        async with database.connection("write") as connection:
            yield connection

    return connect


async def owed_page_by_page(
    connection: asyncpg.Connection, database: Database, way: Callable[..., Awaitable[int]], **options: Any
) -> list[int]:
    """How much work there was before each statement, and at the end."""
    seen: list[int] = []

    async def look() -> None:
        seen.append(await connection.fetchval(WORK))

    await way(before_each(database, look), **options)
    await look()
    return seen


async def test_what_lacks_vectors_is_owed_by_pages(
    connection: asyncpg.Connection,
    database: Database,
    shelf: Shelf,
    write: Write,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Fails without LIMIT in `owe`: one transaction would lock all that a project holds.
    monkeypatch.setattr(owing, "PAGE_ROWS", 2)
    for number in range(5):
        await write(f"Fact number {number}")
    await connection.execute("DELETE FROM memhub.embedding_work")

    assert await owed_page_by_page(connection, database, owe) == [0, 0, 2, 4, 5]


async def test_the_past_is_owed_by_pages_and_only_so_much_at_a_time(
    connection: asyncpg.Connection,
    database: Database,
    scope: ProjectScope,
    shelf: Shelf,
    write: Write,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Fails without LIMIT in `owe_past`, and without PAST_ROWS_MAX, which lets it go on to the end.
    monkeypatch.setattr(owing, "PAGE_ROWS", 2)
    monkeypatch.setattr(owing, "PAST_ROWS_MAX", 4)
    for number in range(7):
        await forget(connection, scope, AUTHOR, (await write(f"Fact number {number}")).memory_id)
    await connection.execute("DELETE FROM memhub.embedding_work")

    assert await owed_page_by_page(connection, database, owe_past, attempts_max=5) == [0, 0, 0, 2, 4]


@pytest.mark.parametrize("past", [False, True])
async def test_the_backfill_ends_while_memories_keep_coming(
    past: bool,
    connection: asyncpg.Connection,
    database: Database,
    shelf: Shelf,
    write: Write,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Fails without `pages_max` in owe and owe_past: each page finds another after it.
    monkeypatch.setattr(owing, "PAGE_ROWS", 1)
    ascending = count(1)
    monkeypatch.setattr(remembering, "uuid4", lambda: UUID(int=next(ascending)))
    opened = count()

    async def another() -> None:
        number = next(opened)
        if number < WRITTEN_MAX:
            await write(f"Written meanwhile, number {number}")
            await connection.execute("DELETE FROM memhub.embedding_work")

    await write("Written before")
    connect = before_each(database, another)
    await (owe_past(connect, attempts_max=5) if past else owe(connect))

    # A look at the past asks first whether anything is in hand; then the sizes, and a page more than there were rows.
    assert next(opened) == (1 + 1 + 4 if past else 1 + 3)


async def test_a_claim_of_what_is_due_is_bounded(
    connection: asyncpg.Connection, database: Database, shelf: Shelf, write: Write
) -> None:
    # Fails without LIMIT in `claim_due`: one worker would hold what all of them are to share.
    for number in range(5):
        await write(f"Fact number {number}")
    claimed = await Leases(database, Settings(embedding_batch_rows=3)).claim_due(models=list(shelf.models))

    assert len(claimed) == 3


async def test_a_sweep_goes_on_in_another_job_when_much_is_due(
    connection: asyncpg.Connection,
    database: Database,
    fake: FakeEmbedder,
    shelf: Shelf,
    write: Write,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Fails without SWEEP_BATCHES_MAX: a stop would wait for all that is due.
    monkeypatch.setattr(embedding, "SWEEP_BATCHES_MAX", 2)
    for number in range(5):
        await write(f"Fact number {number}")
    await EmbedderActor(database, Settings(embedding_batch_rows=1), shelf).sweep()

    assert len(fake.texts) == 2
    assert await connection.fetchval(f"SELECT count(*) FROM procrastinate_jobs WHERE task_name = '{SWEEP_TASK}'") == 1


async def test_a_lease_is_not_renewed_for_ever(
    connection: asyncpg.Connection,
    database: Database,
    fake: FakeEmbedder,
    shelf: Shelf,
    scope: ProjectScope,
    write: Write,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Fails without RENEWALS_MAX: what a hanging model holds no other worker would ever be given.
    monkeypatch.setattr(embedding, "RENEWALS_MAX", 1)
    memory: Memory = await write("Hangs in the model")
    fake.gate.clear()
    embedder = EmbedderActor(database, Settings(embedding_lease_s=0.5), shelf)
    job = asyncio.create_task(
        embedder.embed_revision(
            project_id=str(scope.project_id), memory_id=str(memory.memory_id), revision_no=memory.revision
        )
    )
    # Three more renewals would have been due since it ran out.
    await until(
        connection,
        "SELECT leased_until + interval '0.5 s' < clock_timestamp() FROM memhub.embedding_work",
        within_s=20,
    )

    assert not job.done()
    fake.gate.set()
    await job
