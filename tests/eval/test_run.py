"""The graded set, asked in full: nothing stale by any way, and the default no worse than it was."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field
from uuid import UUID

import pytest

from shared.retrieval.context import context
from shared.retrieval.requests import ContextRequest, Mode, Search
from shared.retrieval.search import search
from tests.eval.__main__ import Results, fallen
from tests.eval.graded import GradedQuery, GradedSet
from tests.eval.loading import AUTHOR
from tests.eval.running import Asking, World, askings, database, scores, world
from tests.eval.strategies import STRATEGIES
from tests.eval.vectors import Embeddings

LIMITS = (1, 2, 3, 5, 8, 13, 21, 34, 55, 100)
BUDGETS = (100, 150, 250, 400, 600, 1_000, 1_500, 2_000, 3_000, 4_000, 6_000, 8_000)

pytestmark = pytest.mark.timeout(1_800)


@dataclass(slots=True)
class Told:
    """What every way of asking answered: `shown` with its names, `wrong` what should not have been among them."""

    results: Results
    shown: int = 0
    wrong: list[str] = field(default_factory=list)
    over_budget: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def told() -> Told:
    return asyncio.run(_asked())


def test_the_default_is_no_worse_than_its_baseline(told: Told) -> None:
    assert fallen(told.results) == []


def test_no_query_finds_what_is_not_live_by_any_strategy_limit_mode_or_budget(told: Told) -> None:
    # Nothing but the view that retrieval reads holds it: with memory_revisions in `candidates` this fails.
    assert told.shown > 50_000
    assert told.wrong == []


def test_no_context_takes_more_than_its_budget(told: Told) -> None:
    assert told.over_budget == []


async def _asked() -> Told:
    graded, embeddings = GradedSet(), Embeddings()
    told = Told(defaultdict(list))
    async with database() as url, world(url, graded, embeddings) as loaded:
        number = 0
        async for asking in askings(loaded, embeddings):
            for name, scored in (await scores(loaded, asking, None)).items():
                told.results[name].append(scored)
            _strategies(loaded, asking, told)
            await _limits(loaded, asking, told, number)
            await _budgets(loaded, asking, told, number)
            number += 1
    return told


def _strategies(world: World, asking: Asking, told: Told) -> None:
    """All that a strategy shows: what it shows at a limit is the beginning of it."""
    for name, show in STRATEGIES.items():
        _hold(world, asking.query, name, [one.memory_id for one in show(asking.found, asking.asked)], told)


async def _limits(world: World, asking: Asking, told: Told, number: int) -> None:
    """Modes and limits go round from query to query; a strategy's whole list is held above."""
    mode, limit = tuple(Mode)[number % len(Mode)], LIMITS[number % len(LIMITS)]
    request = Search(query=asking.query.text, as_of=asking.request.as_of, limit=limit, mode=mode)
    scope = world.loaded.scopes[asking.query.project]
    found = await search(world.connection, scope, AUTHOR, request, meaning=asking.meaning)
    assert len(found.results) <= limit
    _hold(world, asking.query, f"{mode}, limit {limit}", [hit.memory_id for hit in found.results], told)


async def _budgets(world: World, asking: Asking, told: Told, number: int) -> None:
    """Two budgets a query, which go round; a context tells what holds now."""
    if asking.query.as_of is not None:
        return
    for step in (0, len(BUDGETS) // 2):
        budget = BUDGETS[(number + step) % len(BUDGETS)]
        request = ContextRequest(query=asking.query.text, token_budget=budget)
        scope = world.loaded.scopes[asking.query.project]
        answer = await context(world.connection, scope, AUTHOR, request, meaning=asking.meaning)
        _hold(world, asking.query, f"budget {budget}", [item.memory_id for item in answer.items], told)
        if answer.budget.used > budget:
            told.over_budget.append(f"{asking.query.id}: {answer.budget.used} of {budget}")


def _hold(world: World, query: GradedQuery, way: str, ids: list[UUID], told: Told) -> None:
    for name in world.named(ids):
        told.shown += 1
        if not world.graded.is_live(name, query) or world.graded.project_of(name) != query.project:
            told.wrong.append(f"{query.id} by {way}: {name}")
