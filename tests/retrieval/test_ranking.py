"""Scoring alone: no database."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from shared.retrieval import guidance, ranking
from shared.retrieval.evidence import Evidence, Wording
from shared.retrieval.ranking import Ranking, Strategy
from shared.retrieval.requests import Mode
from shared.retrieval.terms import Asked, Term, idf

MEMORIES = 1_000
AT = datetime(2026, 1, 1, tzinfo=UTC)


def evidence(number: int, *, matched: tuple[int, ...] = (), cosine: float | None = None, days: int = 0) -> Evidence:
    return Evidence(
        memory_id=UUID(int=number),
        revision=1,
        matched=matched,
        cosine=cosine,
        updated_at=AT + timedelta(days=days),
    )


def asked(*documents: int, floor: float | None = 0.25, names: tuple[int, ...] = ()) -> Asked:
    terms = tuple(
        Term(f"'t{place}'", f"t{place}", count, idf(count, memories=MEMORIES), is_name=place in names)
        for place, count in enumerate(documents)
    )
    return Asked(terms=terms, rare="'t'", common=None, memories=MEMORIES, model_id=1, floor=floor)


def shown(
    found: list[Evidence], query: Asked, *, mode: Mode = Mode.BALANCED, weights: Ranking | None = None
) -> list[int]:
    ranked = ranking.rank(found, query, mode, 10, weights or ranking.DEFAULT)
    return [scored.evidence.memory_id.int for scored in ranked.kept]


def test_a_rare_word_covers_more_than_a_common_one() -> None:
    query = asked(1, 500)

    assert ranking.coverage(evidence(1, matched=(0,)), query) > 0.8
    assert ranking.coverage(evidence(2, matched=(1,)), query) < 0.2
    assert ranking.coverage(evidence(3, matched=(0, 1)), query) == 1


def test_a_word_that_no_memory_holds_counts_in_full() -> None:
    assert ranking.coverage(evidence(1, matched=(0,)), asked(5, 0)) < 0.5


def test_a_long_query_is_covered_by_as_much_as_a_short_one_asks() -> None:
    story = asked(*[3] * 20)

    assert ranking.coverage(evidence(1, matched=tuple(range(8))), story) == 1


def test_nothing_asked_in_words_covers_nothing() -> None:
    assert ranking.coverage(evidence(1), asked()) == 0


@pytest.mark.parametrize(("cosine", "floor"), [(0.25, 0.25), (0.62, 0.62), (0.8, 0.8)])
def test_the_floor_of_every_model_means_the_same(cosine: float, floor: float) -> None:
    assert ranking.similarity(cosine, floor) == pytest.approx(ranking.REFERENCE_FLOOR)
    assert ranking.similarity(1, floor) == pytest.approx(1)
    assert ranking.similarity(-1, floor) == 0


@pytest.mark.parametrize("strategy", Strategy)
def test_what_both_legs_found_comes_first(strategy: Strategy) -> None:
    query = asked(2, 2)
    found = [evidence(1, matched=(0,), cosine=0.3), evidence(2, cosine=0.6), evidence(3, matched=(0, 1), cosine=0.6)]

    assert shown(found, query, weights=Ranking(strategy=strategy))[0] == 3


@pytest.mark.parametrize("strategy", Strategy)
def test_scores_and_proofs_lie_between_zero_and_one(strategy: Strategy) -> None:
    found = [evidence(1, matched=(0,), cosine=1.0), evidence(2, cosine=-1.0), evidence(3, matched=(0,))]

    for scored in ranking.order(found, asked(1), Ranking(strategy=strategy)):
        assert 0 <= scored.score <= 1
        assert 0 <= scored.proof <= 1


@pytest.mark.parametrize("mode", Mode)
def test_nothing_is_shown_where_nothing_proves_enough(mode: Mode) -> None:
    weak = [evidence(number, matched=(0,), cosine=0.2) for number in range(3)]
    ranked = ranking.rank(weak, asked(400, 0, 0), mode, 10)

    assert ranked.kept == ()
    assert ranked.gated == 3


def test_words_alone_must_prove_less_where_a_vector_is_still_to_be_made() -> None:
    query = asked(5, 0, 0)

    assert shown([evidence(1, matched=(0,), cosine=0.1)], query) == []
    assert shown([evidence(1, matched=(0,))], query) == [1]


def test_a_former_wording_without_a_vector_does_not_lower_the_gate_of_a_memory_that_has_one() -> None:
    # Fails with the similarity of the best wording instead of `compared` in _gate of ranking.py.
    query = asked(2, 0)
    former = (Wording(matched=(0,), cosine=None),)

    assert shown([replace(evidence(1, cosine=0.1), former=former)], query) == []
    assert shown([replace(evidence(1), former=former)], query) == [1]


def test_confidence_is_high_by_what_is_said_now_alone() -> None:
    # Fails without `formerly` and without `proof_now` in `confidence` of guidance.py.
    query = asked(2, 2)
    close = Wording(matched=(0, 1), cosine=0.9)
    said_now, said_before, said_both, proved_before = (
        ranking.order([one], query)[0]
        for one in (
            evidence(1, matched=(0, 1), cosine=0.9),
            replace(evidence(2, cosine=0.1), former=(close,)),
            replace(evidence(3, matched=(0, 1), cosine=0.6), former=(replace(close, cosine=1.0),)),
            replace(evidence(4, matched=(0,), cosine=0.5), former=(Wording(matched=(0, 1), cosine=0.0),)),
        )
    )

    assert [one.formerly for one in (said_now, said_before, said_both, proved_before)] == [False, True, True, False]
    assert guidance.confidence(said_now) == "high"
    assert guidance.confidence(said_before) == "medium"
    assert guidance.confidence(said_both) == "medium"
    assert proved_before.proof >= guidance.HIGH_FROM
    assert guidance.confidence(proved_before) == "medium"
    assert guidance.confidence(None) == "low"


def test_a_code_that_no_memory_holds_is_not_answered_by_a_similar_one() -> None:
    similar = [evidence(1, cosine=0.64)]

    assert shown(similar, asked(0)) == [1]
    assert shown(similar, asked(0, names=(0,))) == []


def test_what_shares_nothing_but_a_common_word_is_not_proved_by_meaning() -> None:
    # Without _shares_what_is_common in `of_another` the first is shown.
    name, detail = 0, 1
    query = asked(150, 0)

    assert shown([evidence(1, matched=(name,), cosine=0.6)], query) == []
    assert shown([evidence(1, matched=(name,), cosine=0.6)], asked(50, 0)) == [1]
    assert shown([evidence(1, cosine=0.6)], query) == [1]
    assert shown([evidence(1, matched=(name, detail), cosine=0.6)], asked(150, 1)) == [1]
    assert shown([evidence(1, matched=(name,), cosine=0.6)], asked(150)) == [1]


def test_stricter_modes_show_no_more() -> None:
    query = asked(2, 2)
    found = [evidence(number, matched=(0, 1), cosine=0.8 - number / 10) for number in range(8)]
    sizes = [len(shown(found, query, mode=mode)) for mode in (Mode.PRECISION, Mode.BALANCED, Mode.EXPLORATORY)]

    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[2]


@pytest.mark.parametrize("strategy", Strategy)
def test_an_infinite_time_is_as_old_or_as_new_as_any(strategy: Strategy) -> None:
    # Fails with `.timestamp()` in place of `_since_epoch_s`: the driver gives '-infinity' as this.
    ever = replace(evidence(1, matched=(0,)), updated_at=datetime.min)
    never = replace(evidence(2, matched=(0,)), updated_at=datetime.max)
    found = ranking.order([ever, evidence(3, matched=(0,)), never], asked(5), Ranking(strategy=strategy))
    assert [scored.evidence.memory_id.int for scored in found] == [2, 3, 1]


def test_equal_scores_come_newest_first_and_then_by_id() -> None:
    query = asked(2)
    found = [evidence(3, matched=(0,)), evidence(2, matched=(0,)), evidence(1, matched=(0,), days=-1)]

    assert shown(found, query) == shown(found[::-1], query) == [2, 3, 1]


def test_no_candidates_give_no_results() -> None:
    assert ranking.rank([], asked(1), Mode.BALANCED, 10).kept == ()


def test_another_weight_changes_the_order() -> None:
    query = asked(2, 2)
    found = [evidence(1, matched=(0, 1), cosine=0.3), evidence(2, matched=(0,), cosine=0.6)]

    assert shown(found, query, weights=replace(ranking.DEFAULT, cosine_weight=0.1))[0] == 1
    assert shown(found, query, weights=replace(ranking.DEFAULT, cosine_weight=5))[0] == 2
