"""Sets the floor of a model from a project's own memories: how near unrelated texts lie in it."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from uuid import UUID

import asyncpg
import orjson

from shared import statements
from shared.domain import ProjectScope
from shared.embedding.models import Absent, EmbeddingModel
from shared.errors import BackendUnavailable, ConfigurationError
from shared.retrieval.meaning import QueryEmbedder, current_model

_SQL = statements.load("calibration")
_SAMPLE = _SQL["sample"]
_NOISE = _SQL["noise"]
_FLOOR = _SQL["floor"]
_SET_FLOOR = _SQL["set_floor"]

NOISE_SHARE = 0.85
"""A sentence of one memory is as near as .23 to .26 to 85 of 100 others in the four projects of the graded set, whose
floor of .25 was found from graded queries: the same share finds the floor of a model that no query was graded for."""

SENTENCES_MAX = 60
COMPARED_MAX = 400
MEMORIES_MIN = 20
SENTENCE_CHARACTERS_MAX = 200
FLOOR_MIN, FLOOR_MAX = 0.02, 0.95

_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|\n+")

Connect = Callable[[], AbstractAsyncContextManager[asyncpg.Connection]]


@dataclass(frozen=True, slots=True)
class Calibrated:
    model: str
    floor_before: float
    floor: float
    sentences: int = 0
    pairs: int = 0
    written: bool = True


async def calibrate(
    connect: Connect,
    scope: ProjectScope,
    embedder: QueryEmbedder,
    *,
    dry_run: bool = False,
    far: float | None = None,
) -> Calibrated:
    """Measures the floor of the current model; the database waits for no embedding.

    Writes it unless `dry_run`, or where it is more than `far` from the one that holds.

    Raises ConfigurationError where there is no model or too few memories have its vectors, BackendUnavailable where
    the embedder does not answer; nothing is written then.
    """
    async with connect() as connection:
        model = await _current(connection)
        rows = await connection.fetch(_SAMPLE, scope.project_id, model.name, SENTENCES_MAX)
    if len(rows) < MEMORIES_MIN:
        raise ConfigurationError(
            f"Memories with vectors in {scope.slug}: {len(rows)}; calibration needs {MEMORIES_MIN}.",
            next="Calibrate with a larger project, or wait until its memories are embedded.",
        )
    vectors: dict[UUID, str] = {}
    for row in rows:
        answer = await embedder.embed(sentence(row["content"]), model=model)
        if isinstance(answer, Absent):
            raise BackendUnavailable(
                f"The embedder did not answer: {answer.reason.value}. Nothing was changed.",
                next="See that memhub-worker runs, then calibrate again.",
            )
        vectors[row["memory_id"]] = orjson.dumps(answer).decode()
    async with connect() as connection:
        return await _write(connection, scope, model.name, vectors, dry_run=dry_run, far=far)


async def put_floor(connection: asyncpg.Connection, floor: float) -> Calibrated:
    """Writes a floor of the current model that was not measured. Raises ConfigurationError where there is no model."""
    model = await _current(connection)
    before = await connection.fetchval(_SET_FLOOR, model.name, floor)
    return Calibrated(model=model.name, floor_before=before, floor=floor)


async def _current(connection: asyncpg.Connection) -> EmbeddingModel:
    model = await current_model(connection)
    if model is None:
        raise ConfigurationError(
            "There is no embedding model to calibrate.", next="Start memhub-worker, it registers the model."
        )
    return model


def sentence(content: str) -> str:
    """The first sentence of a memory that says something: like a question about it, in the words of another text."""
    parts = [part.strip() for part in _SENTENCE_END.split(content)]
    telling = next((part for part in parts if len(part) >= 20), content)
    return telling[:SENTENCE_CHARACTERS_MAX]


async def _write(
    connection: asyncpg.Connection,
    scope: ProjectScope,
    model: str,
    vectors: dict[UUID, str],
    *,
    dry_run: bool,
    far: float | None,
) -> Calibrated:
    noise = await connection.fetchrow(
        _NOISE, scope.project_id, model, list(vectors), list(vectors.values()), COMPARED_MAX, NOISE_SHARE
    )
    assert noise is not None
    floor = round(min(FLOOR_MAX, max(FLOOR_MIN, noise["floor"])), 3)
    before = await connection.fetchval(_FLOOR, model)
    written = not dry_run and (far is None or abs(floor - before) <= far)
    if written:
        before = await connection.fetchval(_SET_FLOOR, model, floor)
    return Calibrated(
        model=model, floor_before=before, floor=floor, sentences=len(vectors), pairs=noise["pairs"], written=written
    )
