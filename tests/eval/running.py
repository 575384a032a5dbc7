"""Runs every query of the graded set: the default through the service, the others over the same evidence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

from shared import migrations
from shared.database import SERVER_ROLE
from shared.embedding.models import PACKAGED_MODEL
from shared.retrieval.evidence import gather
from shared.retrieval.meaning import UNKNOWN, Meaning
from shared.retrieval.requests import Search
from shared.retrieval.search import search, understand
from tests.database import running_cluster
from tests.eval.graded import GradedQuery, GradedSet
from tests.eval.loading import AUTHOR, Loaded, load
from tests.eval.measures import DEPTH, Scored, score
from tests.eval.strategies import DEFAULT, STRATEGIES
from tests.eval.vectors import Embeddings
from workers.embedding.embedder import Purpose

WORDS_ONLY = "default, without embedder"
READING = {"plan_cache_mode": "force_custom_plan", "jit": "off"}


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


async def run(url: str, graded: GradedSet, embeddings: Embeddings) -> dict[str, list[Scored]]:
    """Every strategy's answers to every query, scored."""
    loaded = await load(url, graded, embeddings)
    connection = await asyncpg.connect(url, server_settings=READING)
    await connection.execute(f"SET ROLE {SERVER_ROLE}")
    vectors = embeddings.of_texts([query.text for query in graded.queries], Purpose.QUERY)
    embeddings.keep()
    scored: dict[str, list[Scored]] = defaultdict(list)
    for query, vector in zip(graded.queries, vectors, strict=True):
        meaning = Meaning(vector=tuple(vector.tolist()), model=PACKAGED_MODEL)
        for name, answer in (await _answers(connection, loaded, query, meaning)).items():
            scored[name].append(score(graded, query, answer))
    await connection.close()
    return scored


async def _answers(
    connection: asyncpg.Connection, loaded: Loaded, query: GradedQuery, meaning: Meaning
) -> dict[str, list[str]]:
    scope = loaded.scopes[query.project]
    as_of = None if query.as_of is None else query.as_of + loaded.shift
    request = Search(query=query.text, as_of=as_of, limit=DEPTH)
    asked, _ = await understand(connection, scope, AUTHOR, query.text, meaning)
    found = await gather(connection, scope, AUTHOR, request, asked, vector=meaning.vector)
    answers = {
        name: [loaded.names[one.memory_id] for one in show(found, asked)][:DEPTH] for name, show in STRATEGIES.items()
    }
    for name, meant in ((DEFAULT, meaning), (WORDS_ONLY, UNKNOWN)):
        shown = await search(connection, scope, AUTHOR, request, meaning=meant)
        answers[name] = [loaded.names[hit.memory_id] for hit in shown.results]
    return answers
