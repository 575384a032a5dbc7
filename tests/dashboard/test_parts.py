"""The leaves of the pages: differences, pictures, charts, times, sessions."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from uuid import UUID, uuid4
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.dashboard.chains import LINE_CHARS, draw
from ops.dashboard.charts import bars
from ops.dashboard.diffs import STEPS_MAX, Budget, diff
from ops.dashboard.rendering import ago, percent, span
from ops.dashboard.sessions import FAILURES_MAX, LIFETIME_S, SESSIONS_MAX, Failures, Sessions
from shared.domain import MemoryType, Status
from shared.overview.lives import Link
from shared.text.unseen import visible

_WORDS = st.lists(st.sampled_from(["a", "b", "cd", " ", "\n", ".", "<", "é"]), max_size=40).map("".join)


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@given(_WORDS, _WORDS)
def test_a_difference_holds_both_texts_whole(old: str, new: str) -> None:
    pieces = diff(old, new, Budget())

    assert "".join(piece.text for piece in pieces if piece.kind != "added") == old
    assert "".join(piece.text for piece in pieces if piece.kind != "removed") == new


def test_a_changed_word_is_told_as_one_change() -> None:
    assert [(piece.kind, piece.text) for piece in diff("keep the old one", "keep the new one", Budget())] == [
        ("same", "keep the "),
        ("removed", "old"),
        ("added", "new"),
        ("same", " one"),
    ]


def test_words_that_were_changed_side_by_side_are_one_change() -> None:
    # Fails with the spaces as parts of their own: they would be what is the same.
    assert [(piece.kind, piece.text) for piece in diff("the old way now", "the new road now", Budget())] == [
        ("same", "the "),
        ("removed", "old way"),
        ("added", "new road"),
        ("same", " now"),
    ]


def test_the_differences_of_a_page_cost_no_more_than_its_budget() -> None:
    # Fails without _TooMuch: words of few kinds in no order are the worst of SequenceMatcher, 34 s for 750 of them.
    budget, mixed = Budget(), random.Random(7)
    texts = [" ".join(mixed.choices("abcd", k=300)) for _ in range(21)]
    told = [diff(old, new, budget) for old, new in pairwise(texts)]

    assert budget.steps > 0
    assert len(told[0]) > 2
    assert [(piece.kind, piece.text) for piece in told[-1]] == [("removed", texts[-2]), ("added", texts[-1])]


def test_texts_are_not_cut_into_words_once_the_budget_is_spent() -> None:
    # Fails without PART_STEPS, or without the look at what is left of the budget: 40 ms for a pair of 32,000 signs.
    budget, mixed = Budget(), random.Random(7)
    texts = ["".join(mixed.choices("!?", k=32_000)) for _ in range(21)]
    for old, new in pairwise(texts):
        diff(old, new, budget)

    assert -STEPS_MAX / 2 < budget.steps <= 0


def test_few_changes_of_a_long_text_are_told_word_by_word() -> None:
    # Fails with the spaces as parts of their own: 1,500 of them against as many are 2,250,000 steps for each change.
    mixed = random.Random(7)
    words = mixed.choices([f"w{number}" for number in range(3_000)], [1 / (2 + rank) for rank in range(3_000)], k=1_500)
    changed = [f"changed{place}" if place % 150 == 7 else word for place, word in enumerate(words)]
    pieces = diff(" ".join(words), " ".join(changed), Budget())

    assert [piece.text for piece in pieces if piece.kind == "added"] == [
        f"changed{place}" for place in range(7, 1_500, 150)
    ]


def _link(step: int, memory_id: UUID, successor: UUID | None) -> Link:
    return Link(
        memory_id=memory_id,
        superseded_by=successor,
        step=step,
        status=Status.ACTIVE,
        retired_at=None,
        retired_by=None,
        type=MemoryType.FACT,
        author_client="cursor",
        content="x" * 200,
    )


def test_a_chain_is_drawn_with_an_arrow_for_each_replacement() -> None:
    new, one, two = uuid4(), uuid4(), uuid4()
    picture = draw([_link(-1, one, new), _link(-1, two, new), _link(0, new, None)])

    assert picture is not None
    assert (len(picture.nodes), len(picture.arrows)) == (3, 2)
    assert all(0 <= node.x < picture.width and 0 <= node.y < picture.height for node in picture.nodes)
    assert len({(node.x, node.y) for node in picture.nodes}) == 3


def test_what_replaced_nothing_needs_no_picture() -> None:
    assert draw([_link(0, uuid4(), None)]) is None


def test_what_hides_is_written_out_within_the_lines_of_a_box() -> None:
    # Fails without `visible` in `_lines`: written out on the page alone it ran out of its box.
    hidden = replace(_link(0, uuid4(), None), content="word \U000e006f\U000e0062 " * 9)
    picture = draw([_link(-1, uuid4(), hidden.memory_id), hidden])

    assert picture is not None
    lines = [line for node in picture.nodes for line in node.lines]
    assert r"\u{e006f}" in lines[-2]
    assert all(len(visible(line)) <= LINE_CHARS for line in lines)


@pytest.mark.parametrize("values", [[0, 0, 0], [1, 0, 7], [10**9, 1, 2]])
def test_a_chart_holds_neither_style_nor_script_and_tells_each_bar(values: list[int]) -> None:
    # Fails without _strip: our own policy would refuse the page's styles.
    drawn = bars(["a", "b", "<c>"], {"writes": values}, caption='of "all" <b>')
    root = ElementTree.fromstring(drawn)

    assert {"style", "script"}.isdisjoint(part.tag for part in root.iter())
    assert not any("style" in part.attrib for part in root.iter())
    assert root.get("aria-label") == 'of "all" <b>'
    assert f"<c>: {values[2]:,} writes" in [part.text for part in root.iter("title")]


def test_a_chart_whose_numbers_stay_is_drawn_once() -> None:
    # Fails without lru_cache: 40 ms of the loop for each chart of each page, every five seconds.
    one, again, other = (bars(["a", "b"], {"writes": counts}, caption="of two") for counts in ([1, 2], [1, 2], [1, 3]))

    assert again is one
    assert other != one


@pytest.mark.parametrize(("share", "told"), [(1.0, "100%"), (0.99999, "99.9%"), (0.857, "85.7%"), (0.0, "0%")])
def test_a_share_is_never_whole_while_something_is_missing(share: float, told: str) -> None:
    assert percent(share) == told


def test_times_are_told_in_their_largest_unit() -> None:
    now = datetime.now(UTC)

    assert [span(each) for each in (0, 59, 61, 3_700, timedelta(days=3), None)] == [
        "0 s", "59 s", "1 min", "1 h", "3 d", "–",
    ]  # fmt: skip
    assert ago(now + timedelta(days=2, minutes=1)) == "in 2 d"
    assert ago(now + timedelta(days=90) - timedelta(seconds=2)) == "in 90 d"
    assert [ago(now - timedelta(days=days)) for days in (364, 366, 800)] == ["364 d ago", "1 y ago", "2 y ago"]
    assert ago(now - timedelta(minutes=5)) == "5 min ago"


def test_a_login_ends_by_itself() -> None:
    clock = Clock()
    sessions = Sessions(clock)
    name = sessions.begin("secret")
    clock.now_s = LIFETIME_S - 1
    assert sessions.find(name) is not None
    clock.now_s = LIFETIME_S

    assert sessions.find(name) is None


def test_logins_are_bounded_and_the_oldest_gives_way() -> None:
    sessions = Sessions()
    names = [sessions.begin("secret") for _ in range(SESSIONS_MAX + 1)]

    assert sessions.find(names[0]) is None
    assert sessions.find(names[1]) is not None


def test_a_session_does_not_show_its_secret() -> None:
    sessions = Sessions()
    session = sessions.find(sessions.begin("secret"))

    assert "secret" not in repr(session)


def test_failures_are_forgotten_after_their_minute() -> None:
    clock = Clock()
    failures = Failures(clock)
    for _ in range(FAILURES_MAX):
        failures.note("here")
    assert failures.too_many("here")
    assert not failures.too_many("elsewhere")
    clock.now_s = 61

    assert not failures.too_many("here")
