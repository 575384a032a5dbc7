"""A project to write in, a fleet of this process with a fake embedder, and settings that do not wait long."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from uuid import UUID

import asyncpg
import pytest

from shared import projects
from shared.database import Database
from shared.domain import Author, Memory, ProjectScope
from shared.memories.remember import remember
from shared.memories.requests import Remember
from shared.settings import Settings
from tests.workers.fake import FakeEmbedder
from workers.embedder import EmbedderActor
from workers.shelf import Shelf

AUTHOR = Author(client="tests")

Write = Callable[[str], Awaitable[Memory]]


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """Shorter than tmp_path, whose name leaves no room for a socket."""
    with tempfile.TemporaryDirectory(prefix="mh-", dir="/tmp") as name:
        yield Path(name)


@pytest.fixture
def settings(database_url: str, data_dir: Path) -> Settings:
    return Settings(database_url=database_url, data_dir=data_dir, job_backoff_s=0.01, embedding_lease_s=60)


@pytest.fixture
async def database(database_url: str, settings: Settings) -> AsyncIterator[Database]:
    database = await Database.open(database_url, settings, application="tests")
    yield database
    await database.aclose()


@pytest.fixture
async def scope(connection: asyncpg.Connection) -> ProjectScope:
    used = await projects.use(connection, "local", AUTHOR, project="fleet", aliases={}, create=True)
    return used.project


@pytest.fixture
def write(connection: asyncpg.Connection, scope: ProjectScope) -> Write:
    """Remembers a fact and gives the memory."""

    async def written(content: str) -> Memory:
        remembered = await remember(connection, scope, AUTHOR, Remember(content=content))
        assert remembered.memory is not None
        return remembered.memory

    return written


@pytest.fixture
def fake() -> FakeEmbedder:
    return FakeEmbedder()


@pytest.fixture
async def shelf(fake: FakeEmbedder, database: Database, settings: Settings) -> AsyncIterator[Shelf]:
    """A shelf with the fake model, registered as the current one."""

    def load(settings: Settings, *, name: str | None = None) -> FakeEmbedder:
        return fake

    shelf = Shelf(settings, load=load)
    await shelf.refresh(database)
    yield shelf
    fake.gate.set()
    await shelf.close()


@pytest.fixture
def embedder(database: Database, settings: Settings, shelf: Shelf) -> EmbedderActor:
    return EmbedderActor(database, settings, shelf)


@pytest.fixture
def embed(embedder: EmbedderActor, scope: ProjectScope) -> Callable[[Memory], Awaitable[None]]:
    """Runs the job that the memory's current revision owes."""

    async def run(memory: Memory) -> None:
        await embedder.embed_revision(
            project_id=str(scope.project_id), memory_id=str(memory.memory_id), revision_no=memory.revision
        )

    return run


async def vectors(connection: asyncpg.Connection, table: str, memory_id: UUID) -> list[int]:
    """The revisions that have vectors of this memory in live_vectors or retired_vectors."""
    rows = await connection.fetch(
        f"SELECT DISTINCT revision_no FROM memhub.{table} WHERE memory_id = $1 ORDER BY 1", memory_id
    )
    return [row["revision_no"] for row in rows]
