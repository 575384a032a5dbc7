"""The move of search from one embedding model to the next: built beside the current one, then switched at once.

absent ──begin──▶ building ──switch──▶ current ──switch of another──▶ retired
                     ▲  └──────────abort──────────────────────────────▶ ┘ │
                     └──────────────────────begin─────────────────────────┘
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Literal

import asyncpg

from shared import outbox, statements
from shared.embedding import registry
from shared.embedding.models import PACKAGED_DIMENSION, PACKAGED_MODEL
from shared.embedding.owing import owe
from shared.embedding.registry import RegisteredModel
from shared.errors import ConfigurationError
from shared.settings import Settings

NEW_S = 60.0
"""A memory of the last minute that has vectors of neither model does not hold the switch up, under steady writing for
ever: it is found by words before and after."""

SWEEP_PRIORITY = 0

_SQL = statements.load("reembedding")
_LOCK_CURRENT = _SQL["lock_current"]
_BUILD = _SQL["build"]
_SET_STATE = _SQL["set_state"]
_FORGIVE = _SQL["forgive"]
_PROGRESS = _SQL["progress"]
_FLEET = statements.load("fleet")
_DEFER_ONCE = _FLEET["defer_once"]
_WAKE = _FLEET["wake"]


@dataclass(frozen=True, slots=True)
class Begun:
    """`first`: there was no current model, so this one is it; `current`: it is already, there is nothing to move."""

    outcome: Literal["building", "current", "first"]
    model: RegisteredModel


@dataclass(frozen=True, slots=True)
class Progress:
    """Of the `searchable` memories, `missing` keep the switch waiting; the model refused `refused` of them for good.

    `unowed` have neither vectors nor work; `error` is the reason of one that was put off.
    """

    searchable: int
    embedded: int
    missing: int
    refused: int
    unowed: int
    error: str | None


async def begin(connection: asyncpg.Connection, settings: Settings, name: str) -> Begun:
    """Registers a model as building, or takes its move up where it was, and gives what was refused another try.

    Commits. Raises ConfigurationError while another model is being built.
    """
    own = name == registry.configured_name(settings)
    floor = (settings.embedding_floor if own else None) or registry.FLOOR_DEFAULT
    dimension = PACKAGED_DIMENSION if name == PACKAGED_MODEL else registry.DIMENSION_UNKNOWN
    async with connection.transaction():
        if await connection.fetchrow(_LOCK_CURRENT) is None:
            return Begun("first", await _first(connection, settings, name))
        building = await under_way(connection)
        if building is not None and building.name != name:
            raise ConfigurationError(
                f"Search is being moved to {building.name} already.",
                next=f"Run `memhub reembed {building.name}` to finish that, or `memhub reembed --abort` to leave it.",
            )
        taken_up = await connection.fetchval(_BUILD, name, dimension, floor) is not None
        model = await _named(connection, name)
        if taken_up:  # the name may lead to another model than when it was retired
            model = await registry.learn_dimension(connection, model, dimension)
        if model.state == "building":
            await connection.execute(_FORGIVE, model.id, settings.embedding_attempts_max)
    return Begun("current" if model.state == "current" else "building", model)


async def owe_all(connection: asyncpg.Connection) -> int:
    """Work for what lacks vectors of the model that is built, and a sweep that does it; commits in pages."""
    owed = await owe(lambda: nullcontext(connection))
    await connection.execute(_DEFER_ONCE, outbox.EMBED_QUEUE, outbox.SWEEP_TASK, SWEEP_PRIORITY)
    await connection.execute(_WAKE, [outbox.EMBED_QUEUE])
    return owed


async def under_way(connection: asyncpg.Connection) -> RegisteredModel | None:
    """The model that is being built."""
    return next((model for model in await registry.models(connection) if model.state == "building"), None)


async def progress(connection: asyncpg.Connection, settings: Settings, model: RegisteredModel) -> Progress:
    """How far it is. Reads only."""
    current = next((each.id for each in await registry.models(connection) if each.state == "current"), None)
    return await _progress(connection, settings, model.id, current)


async def switch(connection: asyncpg.Connection, settings: Settings, model: RegisteredModel) -> bool:
    """Makes a built model current and retires the one before, in one transaction; false while memories are missing.

    Checked under a lock that keeps vectors of the current model from being added: whatever is found by meaning at the
    commit is found by meaning after it.
    """
    async with connection.transaction():
        current = await connection.fetchrow(_LOCK_CURRENT)
        if current is not None and current["id"] == model.id:
            return True
        built = await under_way(connection)
        if built is None or built.id != model.id:
            raise ConfigurationError(f"The move to {model.name} was aborted meanwhile.", next="Search is as it was.")
        seen = await _progress(connection, settings, model.id, current["id"] if current else None)
        if seen.missing:
            return False
        if current is not None:
            await connection.execute(_SET_STATE, current["id"], "retired")
        await connection.execute(_SET_STATE, model.id, "current")
    return True


async def abort(connection: asyncpg.Connection) -> RegisteredModel | None:
    """Retires the model that is being built, None where there is none; the collector removes what it had. Commits."""
    async with connection.transaction():
        await connection.fetchrow(_LOCK_CURRENT)
        building = await under_way(connection)
        if building is not None:
            await connection.execute(_SET_STATE, building.id, "retired")
    return building


async def _first(connection: asyncpg.Connection, settings: Settings, name: str) -> RegisteredModel:
    if name != registry.configured_name(settings):
        raise ConfigurationError(
            "The database has no embedding model yet: the first one is that of the settings.",
            next=f"Set MEMHUB_EMBEDDING_MODEL={name} for the fleet and start memhub-worker.",
        )
    await registry.announce(connection, settings)
    announced = next((model for model in await registry.models(connection) if model.name == name), None)
    if announced is None:
        raise ConfigurationError(
            "The database has no embedding model yet.", next="Start memhub-worker: it loads the model and registers it."
        )
    return announced


async def _named(connection: asyncpg.Connection, name: str) -> RegisteredModel:
    return next(model for model in await registry.models(connection) if model.name == name)


async def _progress(connection: asyncpg.Connection, settings: Settings, model: int, current: int | None) -> Progress:
    row = await connection.fetchrow(_PROGRESS, model, current, settings.embedding_attempts_max, NEW_S)
    assert row is not None
    return Progress(**row)
