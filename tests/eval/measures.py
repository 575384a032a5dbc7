"""What is measured of an answer against its grades, and how sure the mean of it is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from tests.eval.graded import GradedQuery, GradedSet

DEPTH = 10
RESAMPLES = 1_000
HELPS_FROM = 2


@dataclass(frozen=True, slots=True)
class Scored:
    """One answer; `ndcg`, `recall` and `precision` are None for a query that nothing answers.

    `f1` is of precision and recall, and for a query that nothing answers 1 if nothing is shown, else 0.
    """

    query: GradedQuery
    ndcg: float | None
    recall: float | None
    precision: float | None
    f1: float
    empty: bool
    stale: int
    leaks: int


@dataclass(frozen=True, slots=True)
class Summary:
    """Means over queries: precision over what is shown, an empty answer to an answerable query counting 0."""

    ndcg: float
    ndcg_low: float
    ndcg_high: float
    recall: float
    precision: float
    f1: float
    empty_of_unanswerable: float
    empty_low: float
    empty_high: float
    stale: int
    leaks: int
    queries: int

    def as_dict(self) -> dict[str, float]:
        return {name: round(value, 4) for name, value in asdict(self).items()}


def score(graded: GradedSet, query: GradedQuery, answer: Sequence[str]) -> Scored:
    shown = list(answer[:DEPTH])
    stale = sum(not graded.is_live(memory_id, query) for memory_id in answer)
    leaks = sum(graded.project_of(memory_id) != query.project for memory_id in answer)
    if not query.grades:
        return Scored(query, None, None, None, float(not answer), not answer, stale, leaks)
    helps = {memory_id for memory_id, grade in query.grades.items() if grade >= HELPS_FROM}
    recall = len(helps & set(shown)) / len(helps)
    precision = sum(memory_id in query.grades for memory_id in shown) / len(shown) if shown else 0.0
    return Scored(
        query,
        ndcg=ndcg(shown, query.grades),
        recall=recall,
        precision=precision,
        f1=2 * precision * recall / (precision + recall) if precision + recall else 0.0,
        empty=not answer,
        stale=stale,
        leaks=leaks,
    )


def ndcg(shown: Sequence[str], grades: dict[str, int]) -> float:
    """With gains 2^grade - 1 (Burges et al. 2005), over the first DEPTH."""
    best = sorted(grades.values(), reverse=True)[:DEPTH]
    return _dcg([grades.get(memory_id, 0) for memory_id in shown]) / _dcg(best)


def summary(scored: Sequence[Scored]) -> Summary:
    answerable = [one for one in scored if one.ndcg is not None]
    unanswerable = [one for one in scored if one.ndcg is None]
    gains = [one.ndcg for one in answerable]
    low, high = interval(gains)
    silent = [float(one.empty) for one in unanswerable]
    empty_low, empty_high = interval(silent)
    return Summary(
        ndcg=_mean(gains),
        ndcg_low=low,
        ndcg_high=high,
        recall=_mean([one.recall for one in answerable]),
        precision=_mean([one.precision for one in answerable]),
        f1=_mean([one.f1 for one in scored]),
        empty_of_unanswerable=_mean(silent),
        empty_low=empty_low,
        empty_high=empty_high,
        stale=sum(one.stale for one in scored),
        leaks=sum(one.leaks for one in scored),
        queries=len(scored),
    )


@dataclass(frozen=True, slots=True)
class Gain:
    """What one strategy has more than another, query by query: the mean and its 95 % interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:+.3f} ({self.low:+.3f} to {self.high:+.3f})"


def gain(of: Sequence[float | None], over: Sequence[float | None]) -> Gain:
    """Paired, so that how hard the queries are cancels out; a query without the measure takes no part."""
    gains = [one - other for one, other in zip(of, over, strict=True) if one is not None and other is not None]
    return Gain(_mean(gains), *interval(gains))


def interval(values: Sequence[float | None]) -> tuple[float, float]:
    """The 95 % interval of the mean by bootstrap, the same at every run; zeros for nothing."""
    if not values:
        return 0.0, 0.0
    told = np.array(values, dtype=float)
    means = told[np.random.default_rng(0).integers(0, len(told), (RESAMPLES, len(told)))].mean(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return float(low), float(high)


def _dcg(grades: Sequence[int]) -> float:
    return math.fsum((2**grade - 1) / math.log2(place + 2) for place, grade in enumerate(grades))


def _mean(values: Sequence[float | None]) -> float:
    return float(np.mean(np.array(values, dtype=float))) if values else 0.0
