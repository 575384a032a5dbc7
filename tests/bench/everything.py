"""What a search with everything on takes at MEMORIES memories, against embedding its query and the bare vector leg."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from itertools import count

import asyncpg
import numpy as np

from shared.domain import ProjectScope
from shared.embedding.models import PACKAGED_MODEL
from shared.retrieval.meaning import Meaning
from shared.retrieval.requests import Search
from shared.retrieval.search import search, words
from tests.bench import places
from tests.bench.large import AUTHOR, project
from tests.bench.meanings import around
from tests.bench.options import Options
from tests.bench.report import Figure, interleaved
from tests.eval.graded import GradedSet
from tests.eval.vectors import Embeddings
from workers.embedding.embedder import Purpose, Vectors
from workers.embedding.local import LocalEmbedder

MEMORIES = 6_000
MEMORIES_QUICK = 200
ROUNDS = 60
ROUNDS_QUICK = 3
QUERIES = 40
# A question as it is asked, with two words that the project holds beside those that it does not.
ASKED = "{text} w40 w900"

_VECTOR_LEG = """
SELECT vector.memory_id, min(vector.embedding::halfvec(384) <=> $3::text::halfvec(384)) AS distance
FROM memhub.live_vectors AS vector
WHERE vector.project_id = $1 AND vector.model_id = $2
GROUP BY vector.memory_id
ORDER BY distance, vector.memory_id
LIMIT 10
"""


async def figures(options: Options) -> list[Figure]:
    graded, embeddings = GradedSet(), Embeddings()
    real = np.concatenate([embeddings.of_memory(memory) for memory in graded.memories])
    embeddings.keep()
    asked = [ASKED.format(text=query.text) for query in graded.queries[:QUERIES]]
    memories = options.count(MEMORIES, MEMORIES_QUICK)
    async with places.database() as url:
        scope, model = await _filled(url, memories, real)
        async with places.session(url, "read") as connection:
            steps = _Steps(connection, scope, model, embeddings.embedder, asked)
            with places.undisturbed(connection.get_server_pid(), real_time=options.real_time):
                taken = await interleaved(
                    options.count(ROUNDS, ROUNDS_QUICK),
                    {"search": steps.search, "bare": steps.bare, "embedding": steps.embedding},
                )
    return [
        Figure(f"search with everything on at {memories:,} memories, p50", taken["search"].wall_ms,
               taken["bare"].wall_ms, "ms", "embedding the query + the bare vector leg", aim=2),
        Figure("of it, embedding the query, p50", taken["embedding"].wall_ms, taken["bare"].wall_ms, "ms", "the same"),
    ]  # fmt: skip


async def _filled(url: str, memories: int, real: Vectors) -> tuple[ProjectScope, int]:
    owner = await asyncpg.connect(url)
    try:
        scope = await project(owner, places.PROJECT, memories, vectors=around(real, memories))
        model = await owner.fetchval("SELECT id FROM memhub.embedding_models WHERE name = $1", PACKAGED_MODEL)
    finally:
        await owner.close()
    return scope, model


class _Steps:
    """The same questions by each way, one after the other."""

    def __init__(
        self,
        connection: asyncpg.Connection,
        scope: ProjectScope,
        model: int,
        embedder: LocalEmbedder,
        asked: Sequence[str],
    ) -> None:
        self._connection = connection
        self._scope = scope
        self._model = model
        self._embedder = embedder
        self._next = {way: _in_turn(asked) for way in ("search", "bare", "embedding")}

    async def search(self) -> None:
        """As the tool does it: the words are looked up while the vector is made."""
        text = self._next["search"]()
        making = asyncio.create_task(self._vector(text))
        asked = await words(self._connection, self._scope, AUTHOR, text, model=PACKAGED_MODEL)
        meaning = Meaning(vector=await making, model=PACKAGED_MODEL)
        request = Search(query=text, limit=10)
        await search(self._connection, self._scope, AUTHOR, request, meaning=meaning, asked=asked)

    async def bare(self) -> None:
        told = str(list(await self._vector(self._next["bare"]())))
        await self._connection.fetch(_VECTOR_LEG, self._scope.project_id, self._model, told)

    async def embedding(self) -> None:
        await self._vector(self._next["embedding"]())

    async def _vector(self, text: str) -> tuple[float, ...]:
        made = await asyncio.to_thread(self._embedder.embed, [text], purpose=Purpose.QUERY)
        return tuple(made[0].tolist())


def _in_turn(texts: Sequence[str]) -> Callable[[], str]:
    numbers = count()
    return lambda: texts[next(numbers) % len(texts)]
