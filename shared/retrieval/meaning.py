"""The vector of a query, asked for before any connection is held, and why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import asyncpg

from shared import statements
from shared.embedding.models import Absent, EmbeddingModel, Vector

_CURRENT_MODEL = statements.load("retrieval")["current_model"]

NO_MODEL = "lexical only: no embedding model answers searches"


class QueryEmbedder(Protocol):
    """shared.embedding.client.QueryEmbedder, as far as a search needs it."""

    async def embed(self, query: str, *, model: EmbeddingModel) -> Vector | Absent: ...


@dataclass(frozen=True, slots=True)
class Meaning:
    """`vector` is of the model named `model`; without one `degraded` says why the search is by words alone."""

    vector: Vector | None = None
    model: str | None = None
    degraded: str | None = None


UNKNOWN = Meaning(degraded=NO_MODEL)


async def current_model(connection: asyncpg.Connection) -> EmbeddingModel | None:
    """The model whose vectors answer searches now; it changes when `memhub reembed` switches."""
    row = await connection.fetchrow(_CURRENT_MODEL)
    return None if row is None else EmbeddingModel(name=row["name"], dimension=row["dimension"])


async def of_query(query: str | None, model: EmbeddingModel | None, embedder: QueryEmbedder | None) -> Meaning:
    """Asks the embedder, within its own deadline; hold no connection meanwhile."""
    if query is None or model is None or embedder is None:
        return UNKNOWN
    answer = await embedder.embed(query, model=model)
    if isinstance(answer, Absent):
        return Meaning(degraded=f"lexical only: {answer.reason.value}")
    return Meaning(vector=answer, model=model.name)
