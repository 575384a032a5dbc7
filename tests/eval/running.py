"""Runs every query of the graded set: the default through the service, the others over the same evidence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

import asyncpg

from shared import migrations
from shared.database import SERVER_ROLE
from shared.embedding.models import PACKAGED_MODEL
from shared.retrieval.evidence import Evidence, gather
from shared.retrieval.meaning import UNKNOWN, Meaning
from shared.retrieval.requests import Search
from shared.retrieval.search import search, understand
from shared.retrieval.terms import Asked
from tests.database import running_cluster
from tests.eval.graded import GradedQuery, GradedSet
from tests.eval.loading import AUTHOR, Loaded, load
from tests.eval.measures import DEPTH, Scored, score
from tests.eval.pieces import PieceVectors, maxsim
from tests.eval.strategies import DEFAULT, STRATEGIES, with_maxsim
from tests.eval.vectors import Embeddings
from workers.embedding.embedder import Purpose

WORDS_ONLY = "default, without embedder"
READING = {"plan_cache_mode": "force_custom_plan", "jit": "off"}

Nearness = Callable[[GradedQuery], Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Asking:
    """A query of the set as the services are asked it, with what the database knows about it."""

    query: GradedQuery
    request: Search
    meaning: Meaning
    asked: Asked
    found: list[Evidence]


@dataclass(frozen=True, slots=True)
class World:
    """The loaded set behind a connection of a server's role."""

    connection: asyncpg.Connection
    graded: GradedSet
    loaded: Loaded

    def named(self, ids: list[UUID]) -> list[str]:
        return [self.loaded.names[memory_id] for memory_id in ids]


@asynccontextmanager
async def database() -> AsyncIterator[str]:
    """A cluster with one migrated database, gone afterwards."""
    with running_cluster("18") as cluster:
        admin = await asyncpg.connect(cluster.url())
        await admin.execute("CREATE DATABASE eval")
        await admin.close()
        url = cluster.url("eval")
        owner = await asyncpg.connect(url)
        await migrations.migrate(owner, create_extension=True)
        await owner.close()
        yield url


@asynccontextmanager
async def world(url: str, graded: GradedSet, embeddings: Embeddings) -> AsyncIterator[World]:
    loaded = await load(url, graded, embeddings)
    connection = await asyncpg.connect(url, server_settings=READING)
    await connection.execute(f"SET ROLE {SERVER_ROLE}")
    yield World(connection, graded, loaded)
    await connection.close()


async def askings(world: World, embeddings: Embeddings) -> AsyncIterator[Asking]:
    """Every query with its evidence, in the order of the set."""
    queries = world.graded.queries
    vectors = embeddings.of_texts([query.text for query in queries], Purpose.QUERY)
    embeddings.keep()
    for query, vector in zip(queries, vectors, strict=True):
        meaning = Meaning(vector=tuple(vector.tolist()), model=PACKAGED_MODEL)
        as_of = None if query.as_of is None else query.as_of + world.loaded.shift
        request = Search(query=query.text, as_of=as_of, limit=DEPTH)
        scope = world.loaded.scopes[query.project]
        asked, _ = await understand(world.connection, scope, AUTHOR, query.text, meaning)
        found = await gather(world.connection, scope, AUTHOR, request, asked, vector=meaning.vector)
        yield Asking(query, request, meaning, asked, found)


async def scores(world: World, asking: Asking, nearness: Nearness | None) -> dict[str, Scored]:
    """The answer of every strategy to one query, scored; those with MaxSim where there is its nearness."""
    shows = dict(STRATEGIES)
    if nearness is not None:
        near = {world.loaded.ids[name]: told for name, told in nearness(asking.query).items()}
        shows |= with_maxsim(near)
    answers = {
        name: world.named([one.memory_id for one in show(asking.found, asking.asked)])[:DEPTH]
        for name, show in shows.items()
    }
    scope = world.loaded.scopes[asking.query.project]
    for name, meant in ((DEFAULT, asking.meaning), (WORDS_ONLY, UNKNOWN)):
        shown = await search(world.connection, scope, AUTHOR, asking.request, meaning=meant)
        answers[name] = world.named([hit.memory_id for hit in shown.results])
    return {name: score(world.graded, asking.query, answer) for name, answer in answers.items()}


async def run(world: World, embeddings: Embeddings, *, late: bool = True) -> dict[str, list[Scored]]:
    """Every strategy's answers to every query, scored; `late` with token vectors, which take a minute to make."""
    nearness = _nearness(world.graded, embeddings) if late else None
    scored: dict[str, list[Scored]] = defaultdict(list)
    async for asking in askings(world, embeddings):
        for name, one in (await scores(world, asking, nearness)).items():
            scored[name].append(one)
    return scored


def _nearness(graded: GradedSet, embeddings: Embeddings) -> Nearness:
    pieces = PieceVectors()
    texts = {
        memory.id: (memory.project, [pieces.of_text(text) for text in embeddings.texts_of(memory)])
        for memory in graded.memories
    }
    asked = {query.id: pieces.of_text(query.text) for query in graded.queries}
    pieces.keep()

    def nearness(query: GradedQuery) -> dict[str, float]:
        return {
            name: maxsim(asked[query.id], chunks)
            for name, (project, chunks) in texts.items()
            if project == query.project
        }

    return nearness
