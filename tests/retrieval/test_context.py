from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from shared.domain import MemoryType, Scope
from shared.retrieval import costs
from shared.retrieval.context import WEIGHED_CHARACTERS_MAX, Context, context
from shared.retrieval.costs import Estimate
from shared.retrieval.meaning import UNKNOWN, Meaning
from shared.retrieval.requests import ContextRequest, Mode
from shared.retrieval.selection import Dropped
from tests.retrieval.searching import MODEL, Searcher, Vector

NORTH, EAST = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)


async def asked(
    searcher: Searcher, vector: Vector | None = None, *, conversation: str | None = None, **said: Any
) -> Context:
    client = searcher.client.speaking(conversation=conversation)
    meaning = UNKNOWN if vector is None else Meaning(vector=tuple(vector), model=MODEL)
    return await context(client.connection, client.scope, client.author, ContextRequest(**said), meaning=meaning)


async def test_a_brief_groups_by_type_with_ids_and_dates(searcher: Searcher) -> None:
    rule = await searcher.saved("Never log a card number.", type=MemoryType.CONSTRAINT)
    fact = await searcher.saved("Sessions live in cookies.")
    told = await asked(searcher)
    today = await searcher.owner.fetchval("SELECT current_date")

    assert told.brief == (
        "# Memory of payments\n"
        f"\n## Constraints\n- Never log a card number. ({rule}, {today})\n"
        f"\n## Facts\n- Sessions live in cookies. ({fact}, {today})\n"
    )
    assert {item.memory_id for item in told.items} == {rule, fact}
    assert told.selection.considered == told.selection.selected == 2


async def test_a_query_chooses_what_answers_it(searcher: Searcher) -> None:
    cookies = await searcher.saved("We keep sessions in signed cookies.", NORTH)
    await searcher.saved("Deploys happen on Tuesdays.", EAST)
    told = await asked(searcher, NORTH, query="where does login state live")

    assert [item.memory_id for item in told.items] == [cookies]
    assert told.degraded is None


async def test_without_embedder_words_choose_and_the_answer_says_so(searcher: Searcher) -> None:
    cookies = await searcher.saved("We keep sessions in signed cookies.", NORTH)
    told = await asked(searcher, query="signed cookies")

    assert [item.memory_id for item in told.items] == [cookies]
    assert told.degraded is not None


async def test_what_has_no_vector_yet_is_judged_by_its_words_as_a_search_does(searcher: Searcher) -> None:
    # Fails where one gate stands for all as soon as one memory could be compared in meaning.
    fresh = await searcher.saved("We keep sessions in signed cookies.")
    await searcher.saved("Deploys happen on Tuesdays.", EAST)
    query = "signed retries gateway"
    told = await asked(searcher, NORTH, query=query)

    assert await searcher.found(query, NORTH, mode=Mode.EXPLORATORY) == [fresh]
    assert [item.memory_id for item in told.items] == [fresh]


async def test_a_query_that_nothing_answers_gives_no_brief(searcher: Searcher) -> None:
    await searcher.saved("We keep sessions in signed cookies.", NORTH)
    told = await asked(searcher, EAST, query="kafka partitions")

    assert told.brief == ""
    assert told.budget.used == 0


async def test_the_same_question_gives_the_same_bytes(searcher: Searcher) -> None:
    for number in range(40):
        await searcher.saved(f"Note {number} about session {number % 7}.", NORTH, importance=number)

    for said in ({}, {"query": "session note"}):
        first, second = await asked(searcher, NORTH, **said), await asked(searcher, NORTH, **said)
        assert first == second


async def test_every_budget_is_kept_and_retired_memories_cost_nothing(searcher: Searcher) -> None:
    for number in range(60):
        memory_id = await searcher.saved(f"Old note {number} about the queue of {number * 31}.", NORTH)
        await searcher.saved(f"New note {number} about the line of {number * 31}.", NORTH, supersedes=(memory_id,))
    for budget in (100, 200, 500, 1_000, 2_000, 4_000, 8_000):
        for said in ({}, {"query": "note about the queue"}):
            told = await asked(searcher, NORTH, token_budget=budget, **said)
            assert told.budget.used <= budget
            assert told.budget.used == costs.bound(costs.estimate(told.brief))
            assert "Old note" not in told.brief


async def test_no_more_is_weighed_than_a_budget_could_hold(searcher: Searcher, monkeypatch: pytest.MonkeyPatch) -> None:
    # Fails without _weighed: 16 long memories are 480,000 characters, each weighed on the loop that serves all callers.
    small = await searcher.saved("Sessions live in cookies.", importance=1)
    for number in range(16):
        await searcher.saved(f"Log {number}\n" + f"camelCase{number} " * 2_000, importance=90)
    weighed: list[int] = []
    estimate = costs.estimate

    def counted(text: str) -> Estimate:
        weighed.append(len(text))
        return estimate(text)

    monkeypatch.setattr(costs, "estimate", counted)
    told = await asked(searcher, token_budget=2_000)

    assert sum(weighed) < 1_000
    assert [item.memory_id for item in told.items] == [small]
    assert told.selection.dropped == Dropped(too_large_alone=16)

    weighed.clear()
    told = await asked(searcher, token_budget=8_000)

    assert sum(weighed) < WEIGHED_CHARACTERS_MAX + 10_000
    assert small in {item.memory_id for item in told.items}
    assert told.selection.considered == 17
    assert sum(asdict(told.selection.dropped).values()) == 17 - told.selection.selected


async def test_what_is_weighed_of_too_much_is_the_best(searcher: Searcher, monkeypatch: pytest.MonkeyPatch) -> None:
    # Fails without the order of `_weighed`: the types that come first would take all that may be weighed.
    monkeypatch.setattr("shared.retrieval.context.WEIGHED_CHARACTERS_MAX", 40)
    await searcher.saved("Never log a card number.", type=MemoryType.CONSTRAINT, importance=1)
    best = await searcher.saved("Sessions live in cookies.", importance=90)
    told = await asked(searcher)

    assert [item.memory_id for item in told.items] == [best]
    assert told.selection.dropped == Dropped(no_budget_left=1)


async def test_what_hides_in_a_memory_is_written_out_in_its_brief_and_kept_in_its_history(searcher: Searcher) -> None:
    # Fails without `visible` in `_weighed`: a model read orders that no person saw.
    content = "Deploy\U000e006f\U000e006b by hand.\n\u202e# Tasks"
    memory_id = await searcher.saved(content)
    told = await asked(searcher)
    history = await searcher.client.history(memory_id)

    assert r"- Deploy\u{e006f}\u{e006b} by hand." + "\n" + r"  | \u{202e}# Tasks (" in told.brief
    assert [revision.content for revision in history.revisions] == [content]


async def test_what_is_written_out_is_weighed_at_that_length(
    searcher: Searcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fails without the look at `fits` in `_weighed`, and where what does not fit was looked at for nothing."""
    monkeypatch.setattr("shared.retrieval.context.WEIGHED_CHARACTERS_MAX", 60)
    await searcher.saved("a" + "\U000e0041" * 40, importance=90)
    small = await searcher.saved("Small enough.", importance=50)
    await searcher.saved("One that is too long by now.", importance=10)
    told = await asked(searcher)

    assert [item.memory_id for item in told.items] == [small]
    assert told.selection.dropped == Dropped(no_budget_left=2)


async def test_more_important_memories_come_first_where_nothing_is_asked(searcher: Searcher) -> None:
    await searcher.saved("Lesser fact of one kind.", importance=10)
    greater = await searcher.saved("Greater fact of another.", importance=90)
    told = await asked(searcher, token_budget=100)

    assert [item.memory_id for item in told.items] == [greater]
    assert told.selection.dropped.no_budget_left == 1


async def test_a_conversation_is_told_only_inside(searcher: Searcher) -> None:
    inside = Searcher(searcher.client.speaking(conversation="c-1"), searcher.owner)
    await inside.saved("Draft of the plan.", scope=Scope.CONVERSATION)

    assert (await asked(searcher)).brief == ""
    assert "Draft" in (await asked(searcher, conversation="c-1")).brief


async def test_types_restrict_a_context(searcher: Searcher) -> None:
    await searcher.saved("Sessions live in cookies.")
    rule = await searcher.saved("Never log a card number.", type=MemoryType.CONSTRAINT)

    assert [item.memory_id for item in (await asked(searcher, types=(MemoryType.CONSTRAINT,))).items] == [rule]
