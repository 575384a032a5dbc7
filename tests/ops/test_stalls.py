"""Why a move does not get on: what is said at once, and what after a while."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from ops.asking import asking
from ops.stalls import Stalls
from shared import reembedding
from shared.embedding import registry
from shared.embedding.client import QueryEmbedder
from shared.embedding.registry import RegisteredModel
from shared.reembedding import Progress
from shared.settings import Settings
from tests.ops import lively
from tests.workers.fake import FakeEmbedder
from tests.workers.processes import model_server

MODELS: Any = "http://models.test/v1"
OLD, NEW = 8, 12


def settings(**more: Any) -> Settings:
    own = {"embedding_provider": "openai", "embedding_model": "new", "embedding_base_url": MODELS, "sweep_every_s": 1}
    return Settings(**own | more)


def elsewhere(told: dict[str, str]) -> Settings:
    return settings(embedder_url=told["MEMHUB_EMBEDDING_BASE_URL"])


def progress(*, missing: int = 0, searchable: int = 100) -> Progress:
    return Progress(searchable, searchable - missing, missing, refused=0, unowed=0, error=None)


@pytest.fixture
async def new(connection: asyncpg.Connection) -> RegisteredModel:
    """Beside `old`, which search uses; a worker has loaded it."""
    await registry.register(connection, name="old", dimension=OLD, floor=None)
    begun = await reembedding.begin(connection, settings(), "new")
    return await registry.learn_dimension(connection, begun.model, NEW)


@pytest.fixture
async def embedder() -> AsyncIterator[QueryEmbedder]:
    """An endpoint that serves the old model alone."""
    async with model_server(FakeEmbedder("old", OLD)) as told, asking(elsewhere(told)) as embedder:
        yield embedder


@pytest.mark.parametrize(
    ("missing", "told"), [(0, "All memories are embedded with new"), (3, "All but 3 memories are embedded with new")]
)
async def test_an_endpoint_that_serves_the_old_model_is_told_at_once_with_the_way_on(
    connection: asyncpg.Connection, embedder: QueryEmbedder, new: RegisteredModel, missing: int, told: str
) -> None:
    # Fails without _served_instead in `look`, and for 3 without ALMOST_MISSING_MAX.
    stalls = Stalls(settings(), embedder, new.name)
    line = await stalls.look(connection, progress(missing=missing))

    assert line is not None
    assert line.startswith(f"{told}, but the endpoint serves old and not new. Stop the worker of the old provider")
    assert await stalls.look(connection, progress(missing=missing)) is None


async def test_steady_writing_does_not_hide_what_the_endpoint_serves(
    connection: asyncpg.Connection, embedder: QueryEmbedder, new: RegisteredModel
) -> None:
    # Fails without ALMOST_MISSING_MAX: what is embedded changes at each look, and the clock of other reasons with it.
    stalls = Stalls(settings(), embedder, new.name)
    lines = [await stalls.look(connection, progress(missing=many)) for many in (50, 11, 10, 2, 5)]

    assert [line is not None for line in lines] == [False, False, True, False, False]


async def test_few_memories_of_which_none_is_embedded_are_not_almost_all(
    connection: asyncpg.Connection, embedder: QueryEmbedder, new: RegisteredModel
) -> None:
    # Fails without what is embedded as a bound in _almost_built.
    assert await Stalls(settings(), embedder, new.name).look(connection, progress(missing=5, searchable=5)) is None


async def test_a_model_that_some_worker_embeds_with_is_not_said_to_be_served_by_none(
    connection: asyncpg.Connection, embedder: QueryEmbedder, new: RegisteredModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Fails without what is embedded in `_reason`.
    monkeypatch.setattr("ops.stalls.PATIENCE_S", -60.0)
    await lively.employ(connection, "embed")
    line = await Stalls(settings(), embedder, new.name).look(connection, progress(missing=50))

    assert line is not None
    assert line.startswith("Nothing was embedded for")


async def test_a_server_of_its_own_is_to_be_asked_elsewhere(
    connection: asyncpg.Connection, embedder: QueryEmbedder, new: RegisteredModel
) -> None:
    line = await Stalls(settings(embedder_url=MODELS), embedder, new.name).look(connection, progress())

    assert line is not None
    assert "Let MEMHUB_EMBEDDER_URL lead to an endpoint that serves new" in line


@pytest.mark.parametrize("served", [("old", "new"), ("third",)])
async def test_an_endpoint_that_serves_both_or_neither_is_left_where_it_is(
    connection: asyncpg.Connection, new: RegisteredModel, served: tuple[str, ...]
) -> None:
    # Fails without either answer asked for in _served_instead.
    fakes = [FakeEmbedder(name, NEW if name == "new" else OLD) for name in served]
    async with model_server(*fakes) as told, asking(elsewhere(told)) as embedder:
        assert await Stalls(settings(), embedder, new.name).look(connection, progress(missing=3)) is None


async def test_before_a_worker_loaded_the_new_model_nobody_is_told_to_stop_one(
    connection: asyncpg.Connection, embedder: QueryEmbedder, new: RegisteredModel
) -> None:
    # Fails without DIMENSION_UNKNOWN in _served_instead: an empty database has nothing missing from the first look.
    await registry.learn_dimension(connection, new, registry.DIMENSION_UNKNOWN)

    assert await Stalls(settings(), embedder, new.name).look(connection, progress(searchable=0)) is None


async def test_a_model_that_gives_another_dimension_than_is_there_is_told_with_both(
    connection: asyncpg.Connection, new: RegisteredModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Fails without `gives` in the client's answer.
    await lively.employ(connection, "embed")
    monkeypatch.setattr("ops.stalls.PATIENCE_S", -60.0)  # as if a minute had passed
    async with model_server(FakeEmbedder("new", 16)) as told, asking(elsewhere(told)) as embedder:
        line = await Stalls(settings(), embedder, new.name).look(connection, progress(missing=100))

    assert line == (
        "new gives vectors of 16, and by that name the database still has some of 12. Remove them and begin again:"
        " memhub reembed --abort, memhub gc, memhub reembed new"
    )
