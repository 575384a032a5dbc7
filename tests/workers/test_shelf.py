"""The models that a worker holds, beside what the rows of the database say of them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from shared import reembedding
from shared.database import Database
from shared.domain import ProjectScope
from shared.embedding import registry
from shared.errors import ConfigurationError
from shared.settings import Settings
from tests.workers.conftest import Write
from tests.workers.fake import FakeEmbedder
from workers.embedder import EmbedderActor
from workers.shelf import Shelf

MODELS: Any = "http://models.test/v1"
EMBEDDED = "SELECT count(*) FROM memhub.live_vectors WHERE dimension = $1"
EMBED_IN_TWO = """
INSERT INTO memhub.live_vectors (project_id, memory_id, revision_no, model_id, dimension, chunk_no, embedding)
SELECT project_id, memory_id, revision_no, $2, 2, 0, '[1,0]' FROM memhub.live_memories WHERE memory_id = $1
"""


@pytest.fixture
def provider(settings: Settings) -> Settings:
    served = {"embedding_provider": "openai", "embedding_model": "own", "embedding_base_url": MODELS}
    return settings.model_copy(update=served)


@pytest.fixture
def offered() -> dict[str, FakeEmbedder]:
    """What the provider serves, by name."""
    return {"own": FakeEmbedder("own", 8)}


@pytest.fixture
async def shelf(provider: Settings, offered: dict[str, FakeEmbedder]) -> AsyncIterator[Shelf]:
    shelf = Shelf(provider, load=lambda settings, *, name=None: offered[name or "own"])
    yield shelf
    await shelf.close()


async def test_what_was_owed_to_a_mistyped_dimension_is_embedded_in_the_models_own(
    connection: asyncpg.Connection, database: Database, provider: Settings, shelf: Shelf, write: Write
) -> None:
    # Fails without learn_dimension in `register`: the worker would refuse to start for good.
    await registry.announce(connection, provider.model_copy(update={"embedding_dim": 100}))
    await write("Written beside a mistyped setting")
    await shelf.refresh(database)
    await EmbedderActor(database, provider, shelf).sweep()

    assert await connection.fetchval(EMBEDDED, 8) == 1


async def test_of_workers_that_differ_before_the_first_vector_the_last_to_start_wins_and_the_other_tells(
    connection: asyncpg.Connection, database: Database, provider: Settings, shelf: Shelf, write: Write
) -> None:
    # Fails without `settled` in `may_learn`: the sweeps of the two would take turns at the dimension.
    later = Shelf(provider, load=lambda settings, *, name=None: FakeEmbedder("own", 12))
    await shelf.refresh(database)
    await later.refresh(database)
    await write("Owed to whoever won")
    with pytest.raises(ConfigurationError, match="own gives vectors of 8, the database has it with 12"):
        await EmbedderActor(database, provider, shelf).sweep()
    (failed,) = await connection.fetch("SELECT error FROM memhub.fleet_runs WHERE outcome = 'failed'")
    await EmbedderActor(database, provider, later).sweep()
    await later.close()

    assert shelf.models == {}
    assert "own gives vectors of 8, the database has it with 12" in failed["error"]
    assert await connection.fetchval(EMBEDDED, 12) == 1


async def test_a_dimension_that_a_new_move_forgot_is_learnt_again(
    connection: asyncpg.Connection,
    database: Database,
    provider: Settings,
    offered: dict[str, FakeEmbedder],
    shelf: Shelf,
) -> None:
    # Fails without DIMENSION_UNKNOWN in `may_learn`: the row of an earlier move would never be built.
    offered["new"] = FakeEmbedder("new", 12)
    await shelf.refresh(database)
    for _ in range(2):
        begun = await reembedding.begin(connection, provider, "new")
        await shelf.refresh(database)
        assert shelf.models[begun.model.id].dimension == 12
        await reembedding.abort(connection)


async def test_a_model_of_others_that_has_no_vectors_takes_the_dimension_that_it_is_loaded_with(
    connection: asyncpg.Connection,
    database: Database,
    provider: Settings,
    offered: dict[str, FakeEmbedder],
    shelf: Shelf,
    write: Write,
) -> None:
    # Fails with DIMENSION_UNKNOWN alone learnt in `_take`.
    offered["another"] = FakeEmbedder("another", 12)
    await registry.register(connection, name="another", dimension=100, floor=None)
    await write("Owed to another model")
    await shelf.refresh(database)
    await EmbedderActor(database, provider, shelf).sweep()

    assert await connection.fetchval(EMBEDDED, 12) == 1


async def test_a_model_that_gives_another_dimension_than_its_vectors_have_is_served_and_does_no_work(
    connection: asyncpg.Connection,
    database: Database,
    provider: Settings,
    offered: dict[str, FakeEmbedder],
    shelf: Shelf,
    write: Write,
) -> None:
    # Fails with the names of `models` alone kept in `_drop`: nobody could ask what it gives.
    offered["new"] = FakeEmbedder("new", 12)
    await shelf.refresh(database)
    await reembedding.begin(connection, provider, "new")
    await shelf.refresh(database)
    await write("Embedded with both")
    await EmbedderActor(database, provider, shelf).sweep()
    await reembedding.abort(connection)
    await shelf.refresh(database)
    offered["new"] = FakeEmbedder("new", 16)
    begun = await reembedding.begin(connection, provider, "new")
    await shelf.refresh(database)

    assert begun.model.dimension == 12
    assert [model.name for model in shelf.models.values()] == ["own"]
    assert shelf.served["new"].embedder.dimension == 16


async def test_a_look_at_the_models_takes_none_from_the_jobs_that_run_meanwhile(
    connection: asyncpg.Connection, database: Database, provider: Settings, scope: ProjectScope, write: Write
) -> None:
    # Fails with `models` emptied before the rows are read: a job that ran then put its memory off for 15 s.
    looking, looked = threading.Event(), threading.Event()

    def load(settings: Settings, *, name: str | None = None) -> FakeEmbedder:
        if name == "another":
            looking.set()
            assert looked.wait(30)
        return FakeEmbedder(name or "own", 8)

    shelf = Shelf(provider, load=load)
    await shelf.refresh(database)
    await reembedding.begin(connection, provider, "another")
    memory = await write("Written while the models are looked at")
    refreshing = asyncio.create_task(shelf.refresh(database))
    assert await asyncio.to_thread(looking.wait, 30)
    await EmbedderActor(database, provider, shelf).embed_revision(
        project_id=str(scope.project_id), memory_id=str(memory.memory_id), revision_no=memory.revision
    )
    embedded = await connection.fetchval(EMBEDDED, 8)
    looked.set()
    await refreshing
    await shelf.close()

    assert embedded == 1


async def test_a_retired_model_of_another_dimension_keeps_no_worker_from_its_start(
    connection: asyncpg.Connection,
    database: Database,
    provider: Settings,
    offered: dict[str, FakeEmbedder],
    shelf: Shelf,
    write: Write,
) -> None:
    # Fails without the state in `register`: a worker whose setting still names it would refuse to start.
    offered["used"] = FakeEmbedder("used", 8)
    await registry.register(connection, name="used", dimension=8, floor=None)
    begun = await reembedding.begin(connection, provider, "own")
    await registry.learn_dimension(connection, begun.model, 2)
    memory = await write("Embedded when it gave vectors of 2")
    await connection.execute(EMBED_IN_TWO, memory.memory_id, begun.model.id)
    await reembedding.abort(connection)
    await shelf.refresh(database)

    assert set(shelf.served) == {"own", "used"}


async def test_a_worker_whose_model_the_database_has_otherwise_takes_up_no_work(
    connection: asyncpg.Connection, database: Database, shelf: Shelf, write: Write
) -> None:
    # Fails without the emptied `models` in `_refresh`: jobs of one memory, which do not refresh, went on embedding.
    await shelf.refresh(database)
    [model] = shelf.models.values()
    await registry.learn_dimension(connection, model, 2)
    memory = await write("Embedded by a worker whose model of this name gives 2")
    await connection.execute(EMBED_IN_TWO, memory.memory_id, model.id)
    with pytest.raises(ConfigurationError, match="gives vectors of 8, the database has it with 2"):
        await shelf.refresh(database)

    assert shelf.models == {}
