"""A question in the words of what was replaced finds what replaced it, and nothing else."""

from __future__ import annotations

from datetime import datetime

import asyncpg
import pytest

from ops import purging
from ops.operating import OPERATOR_ROLE
from shared import limits
from shared.domain import Scope
from shared.retrieval import evidence, frequencies
from shared.retrieval.evidence import Evidence, gather
from shared.retrieval.requests import Mode, Search
from shared.retrieval.terms import ask
from tests.retrieval.searching import MODEL, Searcher

NORTH, EAST, UP = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
OLD, NEW = "Pipelines are orchestrated with Airflow.", "Dagster replaced the former scheduler."


async def test_words_of_what_was_superseded_find_its_successor(searcher: Searcher) -> None:
    old = await searcher.saved(OLD, NORTH)
    new = await searcher.saved(NEW, EAST, supersedes=(old,))
    await searcher.saved("Cards are stored by the provider.")
    found = await searcher.search("orchestrated with Airflow", UP)

    assert [hit.memory_id for hit in found.results] == [new]
    assert found.results[0].content == NEW
    assert found.results[0].why is not None
    assert found.results[0].why["in_the_words_of"] == "what it said before or replaced"
    assert found.results[0].why["terms_matched"] == ["orchestrated", "airflow"]
    assert found.confidence == "medium"
    assert found.guidance.startswith("The first result was found by what it said before")


async def test_a_word_that_nothing_says_any_more_is_no_misspelling_of_what_replaced_it(searcher: Searcher) -> None:
    # Fails where `_corrected` of spelling.py leaves the word as it was written out of its query.
    old = await searcher.saved("The frontend runs on Jest.", NORTH)
    new = await searcher.saved("Vitest replaced the former runner.", EAST, supersedes=(old,))
    await searcher.saved("Every test has a name.", UP)
    await frequencies.count(searcher.client.connection, searcher.client.scope.project_id)
    found = await searcher.search("jest", NORTH)

    assert found.results[0].memory_id == new
    assert found.results[0].why is not None
    assert found.results[0].why["terms_matched"] == ["jest (or test)"]
    assert found.results[0].why["coverage"] == 0.9


async def test_the_meaning_of_what_was_superseded_finds_its_successor(searcher: Searcher) -> None:
    old = await searcher.saved(OLD, NORTH)
    new = await searcher.saved(NEW, EAST, supersedes=(old,))

    assert await searcher.found("unrelated wording", NORTH) == [new]


async def test_an_earlier_revision_finds_what_the_memory_says_now(searcher: Searcher) -> None:
    memory_id = await searcher.saved(OLD, NORTH)
    await searcher.client.revise(memory_id, 1, NEW)
    await searcher.embed(memory_id, EAST)
    found = await searcher.search("orchestrated with Airflow", UP)

    assert [(hit.memory_id, hit.revision, hit.content) for hit in found.results] == [(memory_id, 2, NEW)]


async def test_a_whole_line_of_replacements_leads_to_its_end(searcher: Searcher) -> None:
    memory_id = await searcher.saved(OLD, NORTH)
    for number in range(5):
        memory_id = await searcher.saved(f"{NEW} Step {number}.", EAST, supersedes=(memory_id,))

    assert await searcher.found("orchestrated with Airflow", UP) == [memory_id]


async def test_a_line_is_followed_eight_steps_back(searcher: Searcher) -> None:
    # Fails without the line about lineage.step in `formerly` of retrieval.sql, and with another STEPS_BACK_MAX.
    memory_id = await searcher.saved("Pipelines are orchestrated with Cron.")
    memory_id = await searcher.saved(OLD, supersedes=(memory_id,))
    for number in range(evidence.STEPS_BACK_MAX):
        memory_id = await searcher.saved(f"{NEW} Step {number}.", EAST, supersedes=(memory_id,))
    (told,) = await _gathered(searcher, "cron airflow")

    assert len(told.former) == evidence.STEPS_BACK_MAX == 8
    assert [wording.matched for wording in told.former] == [()] * 7 + [(1,)]


async def test_the_last_four_revisions_before_the_current_one_are_read(searcher: Searcher) -> None:
    # Fails without LIMIT $9 in `formerly` of retrieval.sql, and with another FORMER_REVISIONS_MAX.
    memory_id = await searcher.saved("Pipelines are orchestrated with Cron.")
    await searcher.client.revise(memory_id, 1, OLD)
    for number in range(evidence.FORMER_REVISIONS_MAX):
        await searcher.client.revise(memory_id, 2 + number, f"Pipelines, step {number}.")
    (told,) = await _gathered(searcher, "cron airflow pipelines")

    assert len(told.former) == evidence.FORMER_REVISIONS_MAX == 4
    assert [wording.matched for wording in told.former] == [(2,), (2,), (2,), (1, 2)]


async def test_great_consolidations_share_what_is_read_at_most(
    searcher: Searcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Fails without the second LIMIT $10 of `formerly` in retrieval.sql, and without `place` in the ORDER BY of either.
    assert evidence.FORMER_MEMORIES_MAX == 400
    monkeypatch.setattr(evidence, "FORMER_MEMORIES_MAX", 4)
    for name in ("payments", "refunds"):
        parts = [await searcher.saved(f"A note on {name}, part {number}.") for number in range(4)]
        whole = await searcher.saved(f"Everything on {name}.", EAST, supersedes=tuple(parts))
        await searcher.client.revise(whole, 1, f"Everything on {name} again.")
    told = await _gathered(searcher, "everything")

    assert [len(one.former) for one in told] == [2, 2]


async def test_of_what_one_memory_replaced_the_latest_is_read(
    searcher: Searcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Fails without LIMIT $11, and with either ORDER BY of older.retired_at left out, of `formerly` in retrieval.sql.
    assert evidence.SUPERSEDED_BY_ONE_MAX == limits.SUPERSEDES_MAX
    monkeypatch.setattr(evidence, "SUPERSEDED_BY_ONE_MAX", 2)
    await searcher.saved(NEW, EAST)
    for number in range(4):
        old = await searcher.saved(f"{OLD} Part {number}.")
        await searcher.client.remember(NEW, supersedes=(old,))
    (told,) = await _gathered(searcher, "0 1 2 3")

    assert [wording.matched for wording in told.former] == [(3,), (2,)]


async def test_a_current_wording_comes_before_a_former_one_that_fits_as_well(searcher: Searcher) -> None:
    old = await searcher.saved(OLD, NORTH)
    replaced = await searcher.saved(NEW, EAST, supersedes=(old,))
    current = await searcher.saved("Reports are orchestrated with Airflow.", NORTH)

    assert await searcher.found("orchestrated with Airflow", NORTH) == [current, replaced]


async def test_nothing_is_found_by_the_words_of_what_was_only_forgotten(searcher: Searcher) -> None:
    old = await searcher.saved(OLD, NORTH)
    await searcher.saved(NEW, EAST)
    await searcher.client.forget(old)

    assert await searcher.found("orchestrated with Airflow", UP, mode=Mode.EXPLORATORY) == []


async def test_a_forgotten_successor_is_not_found_by_what_it_replaced(searcher: Searcher) -> None:
    old = await searcher.saved(OLD, NORTH)
    new = await searcher.saved(NEW, EAST, supersedes=(old,))
    await searcher.client.forget(new)

    assert await searcher.found("orchestrated with Airflow", NORTH, mode=Mode.EXPLORATORY) == []


@pytest.mark.parametrize("conversation", [None, "talk-2"])
async def test_words_of_another_conversation_are_no_evidence(searcher: Searcher, conversation: str | None) -> None:
    # Fails without the line about older.conversation in `formerly` of retrieval.sql.
    inside = Searcher(searcher.client.speaking(conversation="talk-1"), searcher.owner)
    old = await inside.saved(OLD, NORTH, scope=Scope.CONVERSATION)
    new = await inside.saved(NEW, EAST, supersedes=(old,))
    asked = "orchestrated with Airflow"

    assert await searcher.found(asked, NORTH, conversation="talk-1") == [new]
    assert await searcher.found(asked, NORTH, conversation=conversation, mode=Mode.EXPLORATORY) == []


async def test_what_was_purged_is_no_evidence_and_leads_on_to_what_it_replaced(
    searcher: Searcher, connection: asyncpg.Connection
) -> None:
    # Without the line about revision.content in `formerly` of retrieval.sql a wording without words is told.
    oldest = await searcher.saved("Crontabs started every pipeline.")
    old = await searcher.saved(OLD, NORTH, supersedes=(oldest,))
    await searcher.saved(NEW, EAST, supersedes=(old,))
    await connection.execute(f"SET ROLE {OPERATOR_ROLE}")
    await purging.destroy(connection, [old])
    await connection.execute("RESET ROLE")
    (told,) = await _gathered(searcher, "crontabs airflow")

    assert [wording.matched for wording in told.former] == [(0,)]
    assert await searcher.found("orchestrated with Airflow", NORTH, mode=Mode.EXPLORATORY) == []


async def test_the_past_knows_nothing_of_what_came_later(searcher: Searcher, connection: asyncpg.Connection) -> None:
    # Fails without the line about older.retired_at in `formerly` of retrieval.sql.
    old, new = await searcher.saved(OLD, NORTH), await searcher.saved(NEW, EAST)
    between: datetime = await connection.fetchval("SELECT clock_timestamp()")
    async with connection.transaction():
        for statement in _RETIRED_BY_JUDGE:
            await connection.execute(statement, old, *((new,) if "$2" in statement else ()))
    asked = "orchestrated with Airflow"

    assert await searcher.found(asked, NORTH, mode=Mode.EXPLORATORY, as_of=between) == [old]
    assert await searcher.found(asked, NORTH, mode=Mode.EXPLORATORY) == [new]


async def _gathered(searcher: Searcher, query: str) -> list[Evidence]:
    client = searcher.client
    asked = await ask(client.connection, client.scope, client.author, query, model=MODEL)
    return await gather(client.connection, client.scope, client.author, Search(query=query), asked, vector=NORTH)


_RETIRED_BY_JUDGE = (
    "UPDATE memhub.memories SET status = 'SUPERSEDED', superseded_by = $2, retired_by = 'judge',"
    " retired_at = now() WHERE id = $1",
    "UPDATE memhub.memory_revisions SET valid_to = now() WHERE memory_id = $1",
    "DELETE FROM memhub.live_memories WHERE memory_id = $1",
)
