"""The move from one embedding model to the next, in the rows of the database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from shared import reembedding
from shared.embedding import registry
from shared.embedding.registry import RegisteredModel
from shared.errors import ConfigurationError
from shared.settings import Settings
from tests.memories.clients import Client
from tests.ops import lively
from tests.workers.waiting import until_blocked

MODELS: Any = "http://models.test/v1"
SETTINGS = Settings(embedding_provider="openai", embedding_model="old", embedding_base_url=MODELS)

_EMBED = """
INSERT INTO memhub.live_vectors (project_id, memory_id, revision_no, model_id, dimension, chunk_no, embedding)
SELECT project_id, memory_id, revision_no, $2, 2, 0, '[1,0]' FROM memhub.live_memories WHERE memory_id = $1
"""
_AGE = "UPDATE memhub.live_memories SET updated_at = now() - interval '1 h'"


@pytest.fixture
async def observer(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    observer = await asyncpg.connect(database_url)
    yield observer
    await observer.close()


@pytest.fixture
async def old(server_connection: asyncpg.Connection) -> RegisteredModel:
    registered = await registry.register(server_connection, name="old", dimension=2, floor=None)
    assert registered is not None
    return registered


@pytest.fixture
async def speaker(server_connection: asyncpg.Connection, old: RegisteredModel) -> Client:
    return await lively.client(server_connection)


@pytest.fixture
async def new(server_connection: asyncpg.Connection, old: RegisteredModel) -> RegisteredModel:
    begun = await reembedding.begin(server_connection, SETTINGS, "new")
    assert begun.outcome == "building"
    return await registry.learn_dimension(server_connection, begun.model, 2)


async def embedded(connection: asyncpg.Connection, memory_id: UUID, *models: RegisteredModel) -> None:
    for model in models:
        await connection.execute(_EMBED, memory_id, model.id)


async def states(connection: asyncpg.Connection) -> dict[str, str]:
    return {model.name: model.state for model in await registry.models(connection)}


async def test_a_new_model_is_built_beside_the_current_one_and_begun_once(
    server_connection: asyncpg.Connection, old: RegisteredModel
) -> None:
    first = await reembedding.begin(server_connection, SETTINGS, "new")
    again = await reembedding.begin(server_connection, SETTINGS, "new")

    assert (first.outcome, again) == ("building", first)
    assert await states(server_connection) == {"old": "current", "new": "building"}


async def test_a_second_move_beside_the_first_is_refused(
    server_connection: asyncpg.Connection, new: RegisteredModel
) -> None:
    with pytest.raises(ConfigurationError, match="moved to new already"):
        await reembedding.begin(server_connection, SETTINGS, "newer")


async def test_two_moves_begun_at_once_do_not_both_begin(
    connection: asyncpg.Connection,
    server_connection: asyncpg.Connection,
    observer: asyncpg.Connection,
    old: RegisteredModel,
) -> None:
    # Fails without FOR UPDATE in lock_current: both would see no model being built.
    transaction = connection.transaction()
    await transaction.start()
    await reembedding.begin(connection, SETTINGS, "new")
    other = asyncio.ensure_future(reembedding.begin(server_connection, SETTINGS, "newer"))
    await until_blocked(observer)
    await transaction.commit()

    with pytest.raises(ConfigurationError, match="moved to new already"):
        await other


async def test_the_current_model_needs_no_move(server_connection: asyncpg.Connection, old: RegisteredModel) -> None:
    assert (await reembedding.begin(server_connection, SETTINGS, "old")).outcome == "current"


async def test_the_first_model_of_a_database_is_its_settings_own(server_connection: asyncpg.Connection) -> None:
    settings = Settings(embedding_provider="openai", embedding_model="own", embedding_dim=2, embedding_base_url=MODELS)
    with pytest.raises(ConfigurationError, match="no embedding model yet"):
        await reembedding.begin(server_connection, settings, "another")

    assert (await reembedding.begin(server_connection, settings, "own")).outcome == "first"
    assert await states(server_connection) == {"own": "current"}


async def test_all_that_is_live_is_owed_and_a_sweep_with_it(
    server_connection: asyncpg.Connection, speaker: Client, new: RegisteredModel
) -> None:
    await server_connection.execute("DELETE FROM memhub.embedding_work")
    for number in range(3):
        await speaker.saved(f"Fact number {number}")
    await server_connection.execute("DELETE FROM memhub.embedding_work WHERE model_id = $1", new.id)

    assert (await reembedding.progress(server_connection, SETTINGS, new)).unowed == 3
    assert await reembedding.owe_all(server_connection) == 3
    assert await reembedding.owe_all(server_connection) == 0
    sweeps = "SELECT count(*) FROM procrastinate_jobs WHERE task_name = 'sweep_embeddings'"
    assert await server_connection.fetchval(sweeps) == 1


async def test_the_switch_waits_for_every_memory_and_is_one_moment(
    connection: asyncpg.Connection,
    server_connection: asyncpg.Connection,
    speaker: Client,
    old: RegisteredModel,
    new: RegisteredModel,
) -> None:
    first, second = await speaker.saved("One."), await speaker.saved("Two.")
    await embedded(connection, first, old, new)
    await embedded(connection, second, old)
    assert not await reembedding.switch(server_connection, SETTINGS, new)
    assert await states(server_connection) == {"old": "current", "new": "building"}

    await embedded(connection, second, new)
    assert await reembedding.switch(server_connection, SETTINGS, new)
    assert await states(server_connection) == {"old": "retired", "new": "current"}
    assert await reembedding.switch(server_connection, SETTINGS, new)


async def test_a_memory_that_came_this_minute_and_has_no_vectors_at_all_keeps_nobody_waiting(
    connection: asyncpg.Connection, server_connection: asyncpg.Connection, speaker: Client, new: RegisteredModel
) -> None:
    await speaker.saved("Just written.")
    assert (await reembedding.progress(server_connection, SETTINGS, new)).missing == 0
    await connection.execute("ALTER TABLE memhub.live_memories DROP CONSTRAINT live_memories_clock")
    await connection.execute(_AGE)

    assert (await reembedding.progress(server_connection, SETTINGS, new)).missing == 1


async def test_what_the_new_model_refuses_and_the_old_one_finds_is_told(
    connection: asyncpg.Connection,
    server_connection: asyncpg.Connection,
    speaker: Client,
    old: RegisteredModel,
    new: RegisteredModel,
) -> None:
    memory = await speaker.saved("Unloved.")
    await embedded(connection, memory, old)
    await connection.execute(
        "UPDATE memhub.embedding_work SET attempts = 5, error = 'EMBEDDING_REFUSED: no' WHERE model_id = $1", new.id
    )
    seen = await reembedding.progress(server_connection, SETTINGS, new)
    assert (seen.missing, seen.refused, seen.error) == (1, 1, "EMBEDDING_REFUSED: no")

    await reembedding.begin(server_connection, SETTINGS, "new")
    assert (await reembedding.progress(server_connection, SETTINGS, new)).refused == 0


async def test_no_vector_of_the_old_model_comes_between_the_check_and_the_switch(
    connection: asyncpg.Connection,
    server_connection: asyncpg.Connection,
    observer: asyncpg.Connection,
    speaker: Client,
    old: RegisteredModel,
    new: RegisteredModel,
) -> None:
    # Fails without FOR UPDATE in lock_current: the switch would not see it and lose a memory that is found by meaning.
    memory = await speaker.saved("Embedded in the old model only.")
    transaction = connection.transaction()
    await transaction.start()
    await embedded(connection, memory, old)
    switching = asyncio.ensure_future(reembedding.switch(server_connection, SETTINGS, new))
    await until_blocked(observer)
    await transaction.commit()

    assert not await switching


async def test_a_move_that_is_left_can_be_begun_anew(
    server_connection: asyncpg.Connection, new: RegisteredModel
) -> None:
    assert await reembedding.abort(server_connection) == new
    assert await reembedding.abort(server_connection) is None
    with pytest.raises(ConfigurationError, match="aborted meanwhile"):
        await reembedding.switch(server_connection, SETTINGS, new)
    assert (await reembedding.begin(server_connection, SETTINGS, "new")).model.id == new.id


async def test_a_model_that_was_retired_is_taken_up_without_the_dimension_that_it_had(
    connection: asyncpg.Connection, server_connection: asyncpg.Connection, speaker: Client, new: RegisteredModel
) -> None:
    # Fails without learn_dimension in `begin`: nobody could tell that no worker has loaded it yet.
    memory = await speaker.saved("Embedded in the new model.")
    await embedded(connection, memory, new)
    await reembedding.abort(server_connection)
    assert (await reembedding.begin(server_connection, SETTINGS, "new")).model.dimension == 2  # its vectors are there

    await reembedding.abort(server_connection)
    await connection.execute("DELETE FROM memhub.live_vectors")
    begun = (await reembedding.begin(server_connection, SETTINGS, "new")).model
    assert (begun.id, begun.dimension) == (new.id, registry.DIMENSION_UNKNOWN)

    await registry.learn_dimension(server_connection, begun, 3)
    assert (await reembedding.begin(server_connection, SETTINGS, "new")).model.dimension == 3
