"""How many of the ten nearest memories the vector leg finds that comparing every vector finds, in every layout."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

import asyncpg

from shared.domain import ProjectScope
from shared.embedding.models import PACKAGED_MODEL
from shared.retrieval.evidence import gather
from shared.retrieval.meaning import Meaning
from shared.retrieval.requests import Search
from shared.retrieval.terms import Asked, ask
from tests.bench import meanings, places
from tests.bench.large import AUTHOR, project
from tests.bench.meanings import Meanings
from tests.bench.options import Options
from tests.bench.report import Figure
from tests.bench.scale import SIZES, SIZES_QUICK, many

SMALL = 20
NEAREST = 10
ASKED_OF_MANY = 50


async def figures(options: Options) -> list[Figure]:
    real = meanings.embedded(options)
    sizes = sorted({*(SIZES_QUICK if options.quick else SIZES), len(real.stored)})
    told: list[Figure] = []
    async with places.database(durable=False) as url:
        owner = await asyncpg.connect(url)
        try:
            for size in sizes:
                scope = await project(owner, f"size-{size}", size, vectors=real.filled(size))
                told += await _measured(url, f"{size:,} memories{_share(real, size)}", [scope], real)
            beside = sum(sizes)
            small = await project(owner, "small", SMALL, vectors=real.filled(SMALL))
            told += await _measured(url, f"{SMALL} beside {beside:,} of others", [small], real)
            scopes = await many(owner, real, options)
            told += await _measured(url, f"{len(scopes):,} projects", scopes[:: -(-len(scopes) // ASKED_OF_MANY)], real)
        finally:
            await owner.close()
    return told


def _share(real: Meanings, size: int) -> str:
    return "" if size <= len(real.stored) else f" ({len(real.stored):,} real)"


async def _measured(url: str, name: str, scopes: Sequence[ProjectScope], real: Meanings) -> list[Figure]:
    queries = real.queries()
    half = len(queries) // 2
    async with places.session(url, "read") as connection:
        recalls = [
            await _recall(connection, scopes[number % len(scopes)], meaning) for number, meaning in enumerate(queries)
        ]
    return [
        Figure(f"recall@{NEAREST}, {name}, {about}", statistics.mean(found), 1.0, "", "comparing every vector",
               aim=0.98, at_least=True)
        for about, found in (("like texts", recalls[:half]), ("other subjects", recalls[half:]))
    ]  # fmt: skip


async def _recall(connection: asyncpg.Connection, scope: ProjectScope, meaning: Meaning) -> float:
    asked = await ask(connection, scope, AUTHOR, "", model=PACKAGED_MODEL)
    found = await nearest(connection, scope, asked, meaning)
    exact = await nearest(connection, scope, replace(asked, memories=0), meaning)
    return len(found & exact) / len(exact)


async def nearest(connection: asyncpg.Connection, scope: ProjectScope, asked: Asked, meaning: Meaning) -> set[UUID]:
    """The ten nearest as the leg of a search finds them."""
    rows = await gather(connection, scope, AUTHOR, Search(query=""), asked, vector=meaning.vector, leg_rows=NEAREST)
    return {row.memory_id for row in rows}
