"""A project that is searched: memories with vectors of a small model, and queries with vectors of the test's choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import asyncpg

from shared.retrieval import ranking
from shared.retrieval.meaning import UNKNOWN, Meaning
from shared.retrieval.ranking import Ranking
from shared.retrieval.requests import Found, Search
from shared.retrieval.search import search
from tests.memories.clients import Client

MODEL = "small"
Vector = Sequence[float]

_EMBED = """
WITH told AS (
    SELECT memory.project_id, memory.id, memory.revision_no, model.id AS model_id, chunk.number::int - 1 AS chunk_no,
           chunk.embedding::halfvec AS embedding
    FROM memhub.memories AS memory, memhub.embedding_models AS model,
         unnest($2::text[]) WITH ORDINALITY AS chunk (embedding, number)
    WHERE memory.id = $1 AND model.name = 'small'
)
INSERT INTO memhub.live_vectors (project_id, memory_id, revision_no, model_id, dimension, chunk_no, embedding)
SELECT project_id, id, revision_no, model_id, vector_dims(embedding), chunk_no, embedding FROM told
"""


@dataclass(frozen=True, slots=True)
class Searcher:
    """A client that searches; `owner` writes vectors as the embedder would."""

    client: Client
    owner: asyncpg.Connection

    async def saved(self, content: str, *chunks: Vector, **said: Any) -> UUID:
        """A new memory with a vector for each chunk, with none where no chunk is given."""
        memory_id = await self.client.saved(content, **said)
        await self.embed(memory_id, *chunks)
        return memory_id

    async def embed(self, memory_id: UUID, *chunks: Vector) -> None:
        await self.owner.execute(_EMBED, memory_id, [_text(chunk) for chunk in chunks])

    async def search(
        self,
        query: str | None,
        vector: Vector | None = None,
        *,
        conversation: str | None = None,
        weights: Ranking = ranking.DEFAULT,
        **asked: Any,
    ) -> Found:
        meaning = UNKNOWN if vector is None else Meaning(vector=tuple(vector), model=MODEL)
        author = self.client.speaking(conversation=conversation).author
        request = Search(query=query, **asked)
        return await search(
            self.client.connection, self.client.scope, author, request, meaning=meaning, weights=weights
        )

    async def found(self, query: str | None, vector: Vector | None = None, **asked: Any) -> list[UUID]:
        return [hit.memory_id for hit in (await self.search(query, vector, **asked)).results]


def _text(vector: Vector) -> str:
    return f"[{','.join(map(str, vector))}]"
