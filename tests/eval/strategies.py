"""The strategies that are held against each other: what each shows for the evidence that the database gave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from shared.retrieval import ranking
from shared.retrieval.evidence import Evidence
from shared.retrieval.ranking import Ranking, Strategy
from shared.retrieval.requests import Mode
from shared.retrieval.terms import Asked
from tests.eval.measures import DEPTH

Show = Callable[[Sequence[Evidence], Asked], list[Evidence]]

DEFAULT = "default"
BASELINE = "RRF, k = 60, equal weights"

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


STRATEGIES: dict[str, Show] = {
    "all terms": all_terms,
    "any term": any_term,
    "idf coverage": coverage,
    "vector": vector,
    BASELINE: ungated(_RRF_EQUAL),
    "RRF, k = 5, vector at 0.5": ungated(_RRF),
    "score fusion, ungated": ungated(ranking.DEFAULT),
    "RRF, gated": ranked(_RRF),
    "fusion, cosine weight 1": ranked(replace(ranking.DEFAULT, cosine_weight=1)),
    "fusion, cosine weight 2": ranked(replace(ranking.DEFAULT, cosine_weight=2)),
    "fusion, long queries whole": ranked(replace(ranking.DEFAULT, long_query_share=1)),
    "fusion, mode precision": ranked(mode=Mode.PRECISION),
    "fusion, mode exploratory": ranked(mode=Mode.EXPLORATORY),
}
