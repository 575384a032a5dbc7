"""The strategies that are held against each other: what each shows for the evidence that the database gave."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from shared.retrieval import ranking
from shared.retrieval.evidence import Evidence
from shared.retrieval.ranking import Ranking, Scored, Strategy
from shared.retrieval.requests import Mode
from shared.retrieval.terms import Asked
from tests.eval.measures import DEPTH

Show = Callable[[Sequence[Evidence], Asked], list[Evidence]]

DEFAULT = "default"
BASELINE = "RRF, k = 60, equal weights"

MAXSIM_WEIGHT = 0.4
"""Beside a score in 0..1; from .2 to .8 it made no difference of .002 on the tuning half."""

_RRF_EQUAL = Ranking(strategy=Strategy.RRF, rrf_k=60, rrf_cosine_weight=1)
_RRF = Ranking(strategy=Strategy.RRF)


def all_terms(found: Sequence[Evidence], asked: Asked) -> list[Evidence]:
    return [one for one in any_term(found, asked) if len(one.matched) == len(asked.terms)]


def any_term(found: Sequence[Evidence], asked: Asked) -> list[Evidence]:
    """Most terms first, then the newest."""
    matching = [one for one in found if one.matched]
    return sorted(matching, key=lambda one: (-len(one.matched), -one.updated_at.timestamp()))


def coverage(found: Sequence[Evidence], asked: Asked) -> list[Evidence]:
    told = [(ranking.coverage(one, asked), one) for one in found if one.matched]
    return [one for _, one in sorted(told, key=lambda pair: -pair[0])]


def vector(found: Sequence[Evidence], asked: Asked) -> list[Evidence]:
    """The best cosine first, gated at the model's floor."""
    near = [(one.cosine, one) for one in found if one.cosine is not None and one.cosine >= (asked.floor or 0)]
    return [one for _, one in sorted(near, key=lambda pair: -pair[0])]


def ungated(weights: Ranking) -> Show:
    """Everything of both legs, the vector leg gated by itself where the strategy is RRF."""

    def show(found: Sequence[Evidence], asked: Asked) -> list[Evidence]:
        return [scored.evidence for scored in ranking.order(found, asked, weights) if scored.score > 0]

    return show


def ranked(weights: Ranking = ranking.DEFAULT, mode: Mode = Mode.BALANCED) -> Show:
    def show(found: Sequence[Evidence], asked: Asked) -> list[Evidence]:
        return [scored.evidence for scored in ranking.rank(found, asked, mode, DEPTH, weights).kept]

    return show


def of_now_alone(shown: Show) -> Show:
    """The same by what memories say now: what they said before is no evidence."""

    def show(found: Sequence[Evidence], asked: Asked) -> list[Evidence]:
        return shown([replace(one, former=()) for one in found], asked)

    return show


STRATEGIES: dict[str, Show] = {
    "all terms": all_terms,
    "any term": any_term,
    "idf coverage": coverage,
    "vector": vector,
    BASELINE: of_now_alone(ungated(_RRF_EQUAL)),
    "RRF, k = 5, vector at 0.5": of_now_alone(ungated(_RRF)),
    "score fusion, ungated": of_now_alone(ungated(ranking.DEFAULT)),
    "with former wordings, ungated": ungated(ranking.DEFAULT),
    "RRF, former wordings, gated": ranked(_RRF),
    "default, of now alone": of_now_alone(ranked()),
    "cosine weight 1": ranked(replace(ranking.DEFAULT, cosine_weight=1)),
    "cosine weight 2": ranked(replace(ranking.DEFAULT, cosine_weight=2)),
    "long queries whole": ranked(replace(ranking.DEFAULT, long_query_share=1)),
    "mode precision": ranked(mode=Mode.PRECISION),
    "mode exploratory": ranked(mode=Mode.EXPLORATORY),
}


def with_maxsim(nearness: Mapping[UUID, float]) -> dict[str, Show]:
    """The default with token vectors as a further stage; `nearness` is MaxSim of the query with each memory."""

    def order(found: Sequence[Evidence], asked: Asked) -> list[Scored]:
        scored = [
            replace(one, score=one.score + MAXSIM_WEIGHT * nearness[one.evidence.memory_id])
            for one in ranking.order(found, asked)
        ]
        return sorted(scored, key=lambda one: -one.score)

    def everything(found: Sequence[Evidence], asked: Asked) -> list[Evidence]:
        return [one.evidence for one in order(found, asked)]

    def gated(found: Sequence[Evidence], asked: Asked) -> list[Evidence]:
        return [one.evidence for one in ranking.cut(order(found, asked), Mode.BALANCED, DEPTH).kept]

    return {"with MaxSim, ungated": everything, "default, with MaxSim": gated}


MAXSIM = tuple(with_maxsim({}))
