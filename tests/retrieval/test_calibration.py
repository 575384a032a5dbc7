from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import pytest

from shared.embedding.models import Absent, EmbeddingModel, Reason, Vector
from shared.errors import BackendUnavailable, ConfigurationError
from shared.retrieval.calibration import Calibrated, calibrate, sentence
from tests.retrieval.searching import Searcher


class Answering:
    """An embedder of one vector, or of none."""

    def __init__(self, answer: Vector | Absent) -> None:
        self._answer = answer

    async def embed(self, query: str, *, model: EmbeddingModel) -> Vector | Absent:
        return self._answer


async def calibrated(searcher: Searcher, answer: Vector | Absent) -> Calibrated:
    @asynccontextmanager
    async def connect() -> AsyncIterator[asyncpg.Connection]:
        yield searcher.client.connection

    return await calibrate(connect, searcher.client.scope, Answering(answer))


async def filled(searcher: Searcher) -> None:
    for number in range(40):
        cosine = number / 40
        await searcher.saved(f"Memory {number} of a project.", (cosine, (1 - cosine**2) ** 0.5, 0.0))


async def test_the_floor_is_what_most_unrelated_texts_stay_below(searcher: Searcher) -> None:
    await filled(searcher)
    told = await calibrated(searcher, (1.0, 0.0, 0.0))

    assert told.floor_before == 0.25
    assert told.floor == pytest.approx(0.85 * 39 / 40, abs=0.02)
    assert told.pairs == 40 * 39
    assert await searcher.owner.fetchval("SELECT floor FROM memhub.embedding_models") == pytest.approx(told.floor)


async def test_too_few_memories_say_nothing_about_a_model(searcher: Searcher) -> None:
    await searcher.saved("Only one.", (1.0, 0.0, 0.0))

    with pytest.raises(ConfigurationError, match="Memories with vectors in payments: 1;"):
        await calibrated(searcher, (1.0, 0.0, 0.0))


async def test_an_absent_embedder_changes_nothing(searcher: Searcher) -> None:
    await filled(searcher)

    with pytest.raises(BackendUnavailable, match="embedder_absent"):
        await calibrated(searcher, Absent(Reason.ABSENT))
    assert await searcher.owner.fetchval("SELECT floor FROM memhub.embedding_models") == 0.25


def test_a_sentence_is_the_first_that_says_something() -> None:
    assert sentence("ADR 12.\n\nWe keep sessions in cookies. They are signed.") == "We keep sessions in cookies."
    assert sentence("Short.") == "Short."
