"""The embedder that servers ask for the vectors of queries, asked with more patience."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from shared.embedding.address import embedder_address
from shared.embedding.client import QueryEmbedder
from shared.embedding.models import Absent, EmbeddingModel
from shared.embedding.registry import RegisteredModel
from shared.settings import Settings

ASKED_MAX_S = 2.0

_asked = itertools.count()


@asynccontextmanager
async def asking(settings: Settings) -> AsyncIterator[QueryEmbedder]:
    key = settings.embedding_api_key
    async with QueryEmbedder(
        embedder_address(settings), timeout_s=ASKED_MAX_S, api_key=key.get_secret_value() if key else None
    ) as embedder:
        yield embedder


async def serves(embedder: QueryEmbedder, model: RegisteredModel) -> bool:
    return await asked(embedder, model) is None


async def asked(embedder: QueryEmbedder, model: RegisteredModel) -> Absent | None:
    """Why queries get no vectors of the model, None when they do."""
    # Vectors are kept by text: another one asks the endpoint again.
    answer = await embedder.embed(
        f"Is {model.name} there? {next(_asked)}", model=EmbeddingModel(model.name, model.dimension)
    )
    return answer if isinstance(answer, Absent) else None
