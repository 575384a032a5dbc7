"""Chooses what a token budget is spent on: by value per token, varied, no type crowding out the others; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from uuid import UUID

from shared.domain import MemoryType
from shared.retrieval import costs
from shared.retrieval.costs import Estimate
from shared.retrieval.particulars import particulars

QUOTAS = {
    MemoryType.CONSTRAINT: 0.30,
    MemoryType.DECISION: 0.30,
    MemoryType.FACT: 0.25,
    MemoryType.TASK: 0.15,
}
"""What each type may take before the others had their turn; what one leaves goes to all."""

TOO_SIMILAR_FROM = 0.7


@dataclass(frozen=True, slots=True)
class Candidate:
    """`value` in 0..1, `cost` in estimated tokens of its line, `words` for telling it from the others."""

    memory_id: UUID
    revision: int
    type: MemoryType
    content: str
    written_on: date
    value: float
    cost: Estimate
    words: frozenset[str]


@dataclass(frozen=True, slots=True)
class Dropped:
    too_similar: int = 0
    no_budget_left: int = 0
    too_large_alone: int = 0

    def __add__(self, other: Dropped) -> Dropped:
        return Dropped(
            self.too_similar + other.too_similar,
            self.no_budget_left + other.no_budget_left,
            self.too_large_alone + other.too_large_alone,
        )


@dataclass(slots=True)
class _Purse:
    budget: int
    spent: Estimate
    quotas: dict[MemoryType, float] = field(default_factory=dict)

    def affords(self, candidate: Candidate) -> bool:
        return costs.bound(self.spent + candidate.cost) <= self.budget

    def grants(self, candidate: Candidate) -> bool:
        return candidate.cost.dearest <= self.quotas[candidate.type]

    def pay(self, candidate: Candidate) -> None:
        self.spent = self.spent + candidate.cost
        self.quotas[candidate.type] -= candidate.cost.dearest


def select(candidates: Sequence[Candidate], *, budget: int, overhead: Estimate) -> tuple[list[Candidate], Dropped]:
    """The chosen ones, best first, and why the others are not among them.

    Maximal marginal relevance (Carbonell and Goldstein 1998) as a factor: value per token times what is new in it.
    The twin of a chosen one is dropped; one that says other figures, names or denials in the same words is none, and
    only comes later. The order is total, so the same candidates give the same choice.
    """
    fitting = [one for one in candidates if costs.bound(overhead + one.cost) <= budget]
    purse = _Purse(budget, overhead, {kind: share * budget for kind, share in QUOTAS.items()})
    nearest = dict.fromkeys((one.memory_id for one in fitting), 0.0)
    twins: set[UUID] = set()
    told_apart_by = cache(particulars)
    left = sorted(fitting, key=lambda one: one.memory_id)
    chosen: list[Candidate] = []
    similar = 0
    while left := [one for one in left if purse.affords(one)]:
        granted = [one for one in left if purse.grants(one)] or left
        best = max(granted, key=lambda one: (one.value / one.cost.dearest) * (1 - nearest[one.memory_id]))
        left.remove(best)
        if best.memory_id in twins:
            similar += 1
            continue
        chosen.append(best)
        purse.pay(best)
        for one in left:
            overlap = _overlap(one.words, best.words)
            nearest[one.memory_id] = max(nearest[one.memory_id], overlap)
            if overlap >= TOO_SIMILAR_FROM and told_apart_by(one.content) == told_apart_by(best.content):
                twins.add(one.memory_id)
    without_room = len(fitting) - len(chosen) - similar
    too_large = len(candidates) - len(fitting)
    return chosen, Dropped(too_similar=similar, no_budget_left=without_room, too_large_alone=too_large)


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Jaccard's index of the words."""
    shared = len(one & other)
    union = len(one) + len(other) - shared
    return shared / union if union else 0.0
