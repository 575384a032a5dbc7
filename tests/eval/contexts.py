"""What a context saves against sending the whole of what a project knows, and how much of the answer it holds."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from statistics import mean
from uuid import UUID

from shared.retrieval import brief, costs
from shared.retrieval.context import context
from shared.retrieval.costs import Estimate
from shared.retrieval.requests import ContextRequest
from tests.eval.graded import GradedQuery, GradedSet
from tests.eval.loading import AUTHOR
from tests.eval.measures import HELPS_FROM
from tests.eval.running import Asking, World

BUDGET = 2_000


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens of one brief and of all live memories of its project; `held` is the share of what helps, None for none."""

    query: GradedQuery
    used: int
    whole: int
    held: float | None


@dataclass(frozen=True, slots=True)
class Saving:
    """Means over queries; `empty_of_unanswerable` is the share of those without answer that got an empty brief."""

    whole: float
    used: float
    saved: float
    held: float
    empty_of_unanswerable: float
    queries: int


async def spent(world: World, asking: Asking, whole: dict[str, int]) -> Spent:
    told = await context(
        world.connection,
        world.loaded.scopes[asking.query.project],
        AUTHOR,
        ContextRequest(query=asking.query.text, token_budget=BUDGET),
        meaning=asking.meaning,
    )
    helps = {name for name, grade in asking.query.grades.items() if grade >= HELPS_FROM}
    items = set(world.named([item.memory_id for item in told.items]))
    held = len(helps & items) / len(helps) if helps else None
    return Spent(asking.query, told.budget.used, whole[asking.query.project], held)


def whole(graded: GradedSet) -> dict[str, int]:
    """Tokens of a brief of everything that is live, by project, as a context would count them."""
    lines: dict[str, list[Estimate]] = defaultdict(list)
    for memory in graded.live_now:
        line = brief.line(memory.content, UUID(int=0), memory.created_at.date())
        lines[memory.project].append(costs.estimate(line))
    return {project: costs.bound(costs.total(each)) for project, each in lines.items()}


def saving(told: list[Spent]) -> Saving:
    answered = [one for one in told if one.held is not None]
    silent = [one for one in told if one.held is None]
    return Saving(
        whole=mean(one.whole for one in answered),
        used=mean(one.used for one in answered),
        saved=mean(1 - one.used / one.whole for one in answered),
        held=mean(one.held for one in answered if one.held is not None),
        empty_of_unanswerable=mean(float(one.used == 0) for one in silent),
        queries=len(told),
    )
