"""What happened over time in a tenant, and what went wrong there with embeddings."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

import asyncpg

from shared import statements
from shared.overview.views import View

PERIODS_MAX = 100
ERRORS_MAX = 20

_SQL = statements.load("overview")
_ACTIVITY = _SQL["activity"]
_EMBEDDING_ERRORS = _SQL["embedding_errors"]
_WAITING = _SQL["waiting"]

Unit = Literal["hour", "day", "week", "month"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """Events of one unit of time, in UTC; `ended` is what was forgotten or expired."""

    begins: datetime
    remembered: int
    revised: int
    attested: int
    restored: int
    superseded: int
    ended: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingError:
    """A revision without vectors; one that is `given_up` waits for a person."""

    memory_id: UUID
    revision: int
    slug: str
    model: str
    model_id: int
    attempts: int
    given_up: bool
    error: str


@dataclass(frozen=True, slots=True)
class Waiting:
    waiting: int
    given_up: int


async def activity(connection: asyncpg.Connection, view: View, *, unit: Unit, periods: int) -> tuple[Period, ...]:
    """The last `periods`, at most PERIODS_MAX, the current one last."""
    assert 1 <= periods <= PERIODS_MAX
    rows = await connection.fetch(_ACTIVITY, view.tenant, view.project_id, unit, periods)
    return tuple(Period(**row) for row in rows)


async def embedding_errors(
    connection: asyncpg.Connection, view: View, *, attempts_max: int
) -> tuple[EmbeddingError, ...]:
    """At most ERRORS_MAX, those that were given up first."""
    rows = await connection.fetch(_EMBEDDING_ERRORS, view.tenant, view.project_id, attempts_max, ERRORS_MAX)
    return tuple(EmbeddingError(**row) for row in rows)


async def waiting(connection: asyncpg.Connection, view: View, *, attempts_max: int) -> Waiting:
    """How many revisions of the tenant have no vectors yet."""
    row = await connection.fetchrow(_WAITING, view.tenant, view.project_id, attempts_max)
    assert row is not None
    return Waiting(**row)
