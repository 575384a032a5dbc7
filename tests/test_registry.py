"""Which model a database uses: the first one, and no other until someone says so."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from shared.embedding import registry
from shared.errors import ConfigurationError
from shared.settings import Settings
from tests.workers.waiting import until_blocked

MODELS: Any = "http://models.test/v1"

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


async def test_a_dimension_that_contradicts_the_row_is_refused(server_connection: asyncpg.Connection) -> None:
    await registry.register(server_connection, name="model", dimension=8, floor=None)

    with pytest.raises(ConfigurationError, match="gives vectors of 16, the database has it with 8"):
        await registry.register(server_connection, name="model", dimension=16, floor=None)


async def test_a_floor_that_is_set_replaces_the_one_of_the_row(server_connection: asyncpg.Connection) -> None:
    await registry.register(server_connection, name="model", dimension=8, floor=None)
    model = await registry.register(server_connection, name="model", dimension=8, floor=0.5)

    assert model is not None
    assert model.floor == 0.5
