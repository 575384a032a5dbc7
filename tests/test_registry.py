"""Which model a database uses: the first one, and no other until someone says so."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from shared.embedding import registry
from shared.errors import ConfigurationError
from shared.settings import Settings
from tests.memories.clients import Client
from tests.ops import lively
from tests.workers.waiting import until_blocked

MODELS: Any = "http://models.test/v1"

_EMBED = """
INSERT INTO memhub.live_vectors (project_id, memory_id, revision_no, model_id, dimension, chunk_no, embedding)
SELECT live.project_id, memory_id, revision_no, model.id, dimension, 0, array_fill(1::float4, ARRAY[dimension])::vector
FROM memhub.live_memories AS live, memhub.embedding_models AS model WHERE memory_id = $1
"""
_ANNOUNCE = """
import sys
from shared.embedding import registry
print(sorted(sys.modules.keys() & {"fastembed", "onnxruntime", "numpy", "procrastinate"}))
"""


async def test_the_packaged_model_is_announced_before_any_worker_ran(server_connection: asyncpg.Connection) -> None:
    await registry.announce(server_connection, Settings())
    await registry.announce(server_connection, Settings())

    [model] = await registry.models(server_connection)
    assert (model.name, model.dimension, model.state) == ("memhub/minilm-int8", 384, "current")


def test_announcing_imports_no_model() -> None:
    root = Path(__file__).parents[1]
    ran = subprocess.run([sys.executable, "-c", _ANNOUNCE], capture_output=True, text=True, check=True, cwd=root)

    assert ran.stdout == "[]\n"


@pytest.mark.parametrize(
    "settings",
    [
        Settings(embedding_provider="none"),
        Settings(embedding_provider="openai", embedding_model="text-embedding-3-small", embedding_base_url=MODELS),
        Settings(embedding_model="BAAI/bge-small-en-v1.5"),
    ],
)
async def test_a_model_of_unknown_dimension_and_none_are_not_announced(
    server_connection: asyncpg.Connection, settings: Settings
) -> None:
    await registry.announce(server_connection, settings)

    assert await registry.models(server_connection) == []


async def test_a_setting_that_differs_changes_nothing_and_shows(server_connection: asyncpg.Connection) -> None:
    settings = Settings(
        embedding_provider="openai", embedding_model="other", embedding_dim=8, embedding_base_url=MODELS
    )
    await registry.announce(server_connection, Settings())
    await registry.announce(server_connection, settings)

    assert await registry.register(server_connection, name="other", dimension=8, floor=None) is None
    standing = await registry.standing(server_connection, settings)
    assert (standing.agrees, standing.configured) == (False, "other")
    assert standing.current is not None
    assert standing.current.name == "memhub/minilm-int8"


async def test_of_two_first_starts_at_once_one_makes_its_model_current(
    connection: asyncpg.Connection, server_connection: asyncpg.Connection
) -> None:
    # Fails without ON CONFLICT DO NOTHING in `register`: the second would raise when the first commits.
    transaction = server_connection.transaction()
    await transaction.start()
    await registry.register(server_connection, name="first", dimension=8, floor=None)
    second = asyncio.create_task(registry.register(connection, name="second", dimension=8, floor=None))
    await until_blocked(server_connection)
    await transaction.commit()

    assert await second is None
    assert [(model.name, model.state) for model in await registry.models(connection)] == [("first", "current")]


async def test_a_dimension_that_contradicts_the_vectors_of_search_is_refused(
    connection: asyncpg.Connection, server_connection: asyncpg.Connection
) -> None:
    await registry.register(server_connection, name="model", dimension=8, floor=None)
    await embedded(connection, await lively.client(server_connection))

    with pytest.raises(ConfigurationError, match="gives vectors of 16, the database has it with 8"):
        await registry.register(server_connection, name="model", dimension=16, floor=None)


async def test_a_dimension_that_was_announced_wrong_gives_way_to_the_model_that_was_loaded(
    server_connection: asyncpg.Connection,
) -> None:
    # Fails without learn_dimension in `register`.
    mistyped = Settings(embedding_provider="openai", embedding_model="m", embedding_dim=100, embedding_base_url=MODELS)
    await registry.announce(server_connection, mistyped)
    await (await lively.client(server_connection)).saved("Owed to the model before anybody loaded it.")

    model = await registry.register(server_connection, name="m", dimension=64, floor=None)
    assert model is not None
    assert (model.dimension, model.state) == (64, "current")
    assert await registry.models(server_connection) == [model]


@pytest.mark.parametrize("passed", [False, True])
async def test_a_model_keeps_the_dimension_of_its_vectors_live_or_of_the_past(
    connection: asyncpg.Connection, server_connection: asyncpg.Connection, passed: bool
) -> None:
    # Fails without the suppressed ForeignKeyViolationError in `learn_dimension`.
    model = await registry.register(server_connection, name="model", dimension=8, floor=None)
    assert model is not None
    speaker = await lively.client(server_connection)
    memory_id = await embedded(connection, speaker)
    if passed:
        await speaker.forget(memory_id)

    assert await registry.learn_dimension(server_connection, model, 16) == model


async def test_vectors_that_come_while_a_dimension_is_learnt_keep_theirs(
    connection: asyncpg.Connection, server_connection: asyncpg.Connection, database_url: str
) -> None:
    # Fails without the suppressed ForeignKeyViolationError in `learn_dimension`.
    model = await registry.register(server_connection, name="model", dimension=8, floor=None)
    assert model is not None
    speaker = await lively.client(server_connection)
    transaction = connection.transaction()
    await transaction.start()
    await embedded(connection, speaker)
    learning = asyncio.create_task(registry.learn_dimension(server_connection, model, 16))
    observer = await asyncpg.connect(database_url)
    await until_blocked(observer)
    await observer.close()
    await transaction.commit()

    assert await learning == model


async def embedded(connection: asyncpg.Connection, speaker: Client) -> UUID:
    """A memory with a vector of the only model."""
    memory_id = await speaker.saved("Embedded.")
    await connection.execute(_EMBED, memory_id)
    return memory_id


async def test_a_floor_that_is_set_replaces_the_one_of_the_row(server_connection: asyncpg.Connection) -> None:
    await registry.register(server_connection, name="model", dimension=8, floor=None)
    model = await registry.register(server_connection, name="model", dimension=8, floor=0.5)

    assert model is not None
    assert model.floor == 0.5
