"""What a search by words and meaning costs as a project grows, and beside a thousand others: the client's time against
what the database itself says of the same statements."""

from __future__ import annotations

import itertools
import math
import random
import statistics
from collections.abc import Callable, Iterator, Sequence

import asyncpg

from shared.domain import ProjectScope
from tests.bench import meanings, places
from tests.bench.large import WORDS, project, projects_of
from tests.bench.meanings import Meanings
from tests.bench.options import Options
from tests.bench.report import Figure
from tests.bench.searching import Asking, taken

SIZES = (1_000, 10_000, 100_000)
SIZES_QUICK = (100, 300)
PROJECTS, MEMORIES_OF_EACH = 1_000, 100
PROJECTS_QUICK, MEMORIES_OF_EACH_QUICK = 5, 20
ROUNDS = 200
ROUNDS_QUICK = 5
QUERY_WORDS = 4

_SQL = "its SQL by EXPLAIN ANALYZE + SELECT 1"


async def figures(options: Options) -> list[Figure]:
    """One project after the other, in one database."""
    real = meanings.embedded(options)
    told: list[Figure] = []
    async with places.database(durable=False) as url:
        owner = await asyncpg.connect(url)
        for size in SIZES_QUICK if options.quick else SIZES:
            scope = await project(owner, f"size-{size}", size, vectors=real.filled(size))
            told += await _measured(url, f"{size:,} memories", itertools.repeat(scope), real, options)
        await owner.close()
    return told


async def of_many(options: Options) -> list[Figure]:
    """A thousand projects, a search in any of them."""
    real = meanings.embedded(options)
    async with places.database(durable=False) as url:
        owner = await asyncpg.connect(url)
        scopes = await many(owner, real, options)
        await owner.close()
        of_each = options.count(MEMORIES_OF_EACH, MEMORIES_OF_EACH_QUICK)
        drawn = random.Random(meanings.SEED).choices(scopes, k=1_000)
        return await _measured(url, f"{len(scopes):,} × {of_each:,} memories", iter(drawn), real, options)


async def many(owner: asyncpg.Connection, real: Meanings, options: Options) -> list[ProjectScope]:
    """A thousand projects of a hundred memories each."""
    count = options.count(PROJECTS, PROJECTS_QUICK)
    of_each = options.count(MEMORIES_OF_EACH, MEMORIES_OF_EACH_QUICK)
    slugs = [f"one-of-{count}-{number}" for number in range(count)]
    return await projects_of(owner, slugs, of_each, vectors=real.filled(count * of_each))


async def _measured(
    url: str, name: str, scopes: Iterator[ProjectScope], real: Meanings, options: Options
) -> list[Figure]:
    rounds = options.count(ROUNDS, ROUNDS_QUICK)
    asked = [*itertools.islice(zip(scopes, _queries(), itertools.cycle(real.queries())), rounds + 5)]
    async with places.session(url, "read") as connection:
        with places.undisturbed(connection.get_server_pid(), real_time=options.real_time):
            samples = [await taken(connection, scope, Asking(words, meaning)) for scope, words, meaning in asked][5:]
    return [*_compared(f"search, {name}, p50", samples, statistics.median, aim=2),
            *_compared(f"search, {name}, p99", samples, p99)]  # fmt: skip


def _compared(
    what: str,
    samples: Sequence[tuple[float, float, float]],
    summary: Callable[[list[float]], float],
    aim: float | None = None,
) -> Iterator[Figure]:
    searched_ms = summary([searched for searched, _, _ in samples])
    server_ms = summary([own + selected for _, selected, own in samples])
    yield Figure(what, searched_ms, server_ms, "ms", _SQL, aim=aim)


def p99(values: list[float]) -> float:
    return sorted(values)[max(0, math.ceil(0.99 * len(values)) - 1)]


def _queries() -> Iterator[str]:
    """Four words each, as frequent as in the texts."""
    dice = random.Random(meanings.SEED)
    while True:
        yield " ".join(f"w{int(math.exp(dice.random() * math.log(WORDS)))}" for _ in range(QUERY_WORDS))
