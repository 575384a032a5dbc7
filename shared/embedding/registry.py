"""The models that the database knows: the first one becomes current, and no setting ever switches it by itself."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

import asyncpg

from shared import statements
from shared.embedding.models import PACKAGED_DIMENSION, PACKAGED_MODEL
from shared.errors import ConfigurationError
from shared.settings import Settings

FLOOR_DEFAULT = 0.25
DIMENSION_UNKNOWN = 1
"""What the row of a model has that is to be built and that no worker has loaded yet."""

_SQL = statements.load("embedding")
_MODELS = _SQL["models"]
_REGISTER = _SQL["register"]
_SET_FLOOR = _SQL["set_floor"]
_SET_DIMENSION = _SQL["set_dimension"]

State = Literal["building", "current", "retired"]


@dataclass(frozen=True, slots=True)
class RegisteredModel:
    """A row of memhub.embedding_models."""

    id: int
    name: str
    dimension: int
    floor: float
    state: State


@dataclass(frozen=True, slots=True)
class Standing:
    """What the settings ask for beside what the database uses; None: the provider `none`, or no model yet."""

    configured: str | None
    current: RegisteredModel | None

    @property
    def agrees(self) -> bool:
        return self.configured == (self.current.name if self.current else None)


def configured_name(settings: Settings) -> str | None:
    """The name that the settings give their model; None with the provider `none`, or where they name none."""
    match settings.embedding_provider:
        case "none":
            return None
        case "fastembed":
            return settings.embedding_model or PACKAGED_MODEL
        case "openai" | "bedrock":
            return settings.embedding_model


async def models(connection: asyncpg.Connection) -> list[RegisteredModel]:
    """All of them, the oldest first."""
    return [RegisteredModel(**row) for row in await connection.fetch(_MODELS)]


async def standing(connection: asyncpg.Connection, settings: Settings) -> Standing:
    current = next((model for model in await models(connection) if model.state == "current"), None)
    return Standing(configured=configured_name(settings), current=current)


async def announce(connection: asyncpg.Connection, settings: Settings) -> None:
    """Registers the settings' model as far as it is known without loading it, so that the first write owes vectors.

    Commits. Of other models than the packaged one only MEMHUB_EMBEDDING_DIM tells the dimension; without it
    the worker registers them once it has loaded them, and its sweep owes what was written before.
    """
    name = configured_name(settings)
    dimension = PACKAGED_DIMENSION if name == PACKAGED_MODEL else settings.embedding_dim
    if name is None or dimension is None or name in {model.name for model in await models(connection)}:
        return  # nothing to write: a standby can be read from
    await connection.execute(_REGISTER, name, dimension, settings.embedding_floor or FLOOR_DEFAULT)


async def register(
    connection: asyncpg.Connection, *, name: str, dimension: int, floor: float | None, settled: Collection[int] = ()
) -> RegisteredModel | None:
    """The row of a loaded model, made current where the database has none; None where it uses another.

    Commits. A floor that is given replaces the one of the row. A row whose id is `settled` keeps the dimension that a
    worker wrote after this one. Raises ConfigurationError when search uses this name with another dimension.
    """
    await connection.execute(_REGISTER, name, dimension, floor or FLOOR_DEFAULT)
    if floor is not None:
        await connection.execute(_SET_FLOOR, name, floor)
    row = next((model for model in await models(connection) if model.name == name), None)
    if row is not None and may_learn(row, dimension, settled):
        row = await learn_dimension(connection, row, dimension)
    if row is not None and row.state == "current" and row.dimension != dimension:
        raise ConfigurationError(
            f"MEMHUB_EMBEDDING_MODEL: {name} gives vectors of {dimension}, the database has it with {row.dimension}.",
            next=f"Let it give {row.dimension} again, for a model that has the choice by MEMHUB_EMBEDDING_DIM,"
            " or give it another name and run `memhub reembed`.",
        )
    return row


def may_learn(model: RegisteredModel, dimension: int, settled: Collection[int]) -> bool:
    """Whether a worker that loaded the model writes its dimension: once for each row.

    Of workers that differ before the first vector the one that started last wins. Would each write it again with its
    sweeps, they would take turns, and whichever embeds first between two would win.
    """
    return model.dimension != dimension and (model.id not in settled or model.dimension == DIMENSION_UNKNOWN)


async def learn_dimension(connection: asyncpg.Connection, model: RegisteredModel, dimension: int) -> RegisteredModel:
    """The row with the dimension that its model was found to have, unless it has vectors of another. Commits."""
    with suppress(asyncpg.ForeignKeyViolationError):
        async with connection.transaction():
            await connection.execute(_SET_DIMENSION, model.id, dimension)
    return next(each for each in await models(connection) if each.id == model.id)
