from __future__ import annotations

from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from shared.domain import MemoryType, Scope
from shared.errors import InvalidArgument
from shared.memories.stats import stats
from shared.retrieval import evidence, frequencies, guidance, terms
from shared.retrieval.evidence import gather
from shared.retrieval.meaning import Meaning
from shared.retrieval.ranking import Ranking, Strategy
from shared.retrieval.requests import Mode, Search
from shared.retrieval.results import COUNTED_MAX, Stored, share
from shared.retrieval.search import OTHER_MODEL, PAST_LEXICAL, PAST_NOT_BUILT, search
from tests.memories.clients import client_of
from tests.retrieval.searching import MODEL, Searcher

NORTH, EAST, UP = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


async def test_words_find_what_has_no_vector_yet(searcher: Searcher) -> None:
    memory_id = await searcher.saved("We keep sessions in signed cookies.")
    found = await searcher.search("which cookies hold a session", UP)

    assert [hit.memory_id for hit in found.results] == [memory_id]
    assert found.semantic_coverage == 0
    assert found.degraded is None


@pytest.mark.parametrize("past", [False, True])
async def test_a_rare_word_is_found_however_old_beside_a_common_one(
    searcher: Searcher, monkeypatch: pytest.MonkeyPatch, past: bool
) -> None:
    """Fails where one bound to the newest is set on all words, as long as one of them is common."""
    monkeypatch.setattr(terms, "NEWEST_ROWS_MAX", 3)
    monkeypatch.setattr(evidence, "NEWEST_ROWS_MAX", 3)
    oldest = await searcher.saved("Ticket OPS-1 is about the zebra.")
    tickets = [await searcher.saved(f"Ticket OPS-{number} is about the queue.") for number in range(2, 8)]
    as_of = await searcher.client.connection.fetchval("SELECT clock_timestamp()") if past else None

    found = await searcher.search("ticket zebra", limit=10, mode=Mode.EXPLORATORY, as_of=as_of)
    assert found.results[0].memory_id == oldest
    assert {hit.memory_id for hit in found.results[1:]} <= set(tickets[-3:])
    assert found.results[0].why is not None
    assert found.results[0].why["words_sought_in_newest"]


@pytest.mark.parametrize("infinity", ["-infinity", "infinity"])
async def test_a_memory_with_an_infinite_time_is_found_like_any(searcher: Searcher, infinity: str) -> None:
    ids = [await searcher.saved(f"We keep sessions in signed cookies, note {number}.") for number in range(3)]
    update = "UPDATE memhub.live_memories SET updated_at = $2::text::timestamptz WHERE memory_id = $1"
    told = "SELECT updated_at::text FROM memhub.live_memories WHERE memory_id = $1"
    before = await searcher.owner.fetchval(told, ids[1])
    clock = await searcher.owner.fetchval(
        "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'live_memories_clock'"
    )
    await searcher.owner.execute("ALTER TABLE memhub.live_memories DROP CONSTRAINT live_memories_clock")
    await searcher.owner.execute(update, ids[1], infinity)
    for query in ("which cookies hold a session", None):
        assert {hit.memory_id for hit in (await searcher.search(query, UP)).results} == set(ids)
    await searcher.owner.execute(update, ids[1], before)
    await searcher.owner.execute(f"ALTER TABLE memhub.live_memories ADD CONSTRAINT live_memories_clock {clock}")


async def test_meaning_finds_what_shares_no_word(searcher: Searcher) -> None:
    memory_id = await searcher.saved("We keep sessions in signed cookies.", NORTH)
    await searcher.saved("Deploys happen on Tuesdays.", EAST)
    found = await searcher.search("how does login state persist", (0.9, 0.1, 0.0))

    assert [hit.memory_id for hit in found.results] == [memory_id]
    assert found.results[0].why is not None
    assert found.results[0].why["cosine"] == pytest.approx(0.9, abs=0.001)
    assert found.results[0].why["terms_matched"] == []
    assert found.semantic_coverage == 1


async def test_the_best_chunk_of_a_memory_counts(searcher: Searcher) -> None:
    long = await searcher.saved("A long note about many things.", NORTH, EAST)
    await searcher.saved("Another note.", (0.6, 0.0, 0.8))

    assert (await searcher.found("unrelated wording", EAST))[0] == long


async def test_category_and_tags_are_found_by_their_words(searcher: Searcher) -> None:
    memory_id = await searcher.saved("Nightly at two.", category="backups", tags=("disaster-recovery",))

    assert await searcher.found("when do backups run") == [memory_id]
    assert await searcher.found("disaster plan") == [memory_id]


async def test_a_revision_that_keeps_its_tags_is_still_found_by_them(searcher: Searcher) -> None:
    memory_id = await searcher.saved("Nightly at two.", category="backups", tags=("disaster-recovery",))
    await searcher.client.revise(memory_id, 1, "Nightly at three.")

    assert await searcher.found("disaster backups") == [memory_id]


async def test_without_an_embedder_words_answer_and_the_answer_says_so(searcher: Searcher) -> None:
    await searcher.saved("We keep sessions in signed cookies.", NORTH)
    found = await searcher.search("session cookies")

    assert found.results
    assert found.degraded == "lexical only: no embedding model answers searches"
    assert found.semantic_coverage == 1


async def test_a_vector_of_another_model_is_never_compared(searcher: Searcher) -> None:
    await searcher.saved("We keep sessions in signed cookies.", NORTH)
    client = searcher.client
    meaning = Meaning(vector=NORTH, model="larger")
    found = await search(client.connection, client.scope, client.author, Search(query="anything"), meaning=meaning)

    assert found.results == ()
    assert found.degraded == OTHER_MODEL


async def test_a_query_that_was_embedded_just_before_a_switch_still_finds_by_meaning(searcher: Searcher) -> None:
    # Fails with `state = 'current'` in `asked` of retrieval.sql.
    memory_id = await searcher.saved("We keep sessions in signed cookies.", NORTH)
    await searcher.owner.execute("UPDATE memhub.embedding_models SET state = 'retired'")
    found = await searcher.search("unrelated wording", NORTH)

    assert [hit.memory_id for hit in found.results] == [memory_id]
    assert found.degraded is None


@pytest.mark.parametrize("strategy", Strategy)
async def test_what_was_retired_is_found_by_no_strategy_at_any_limit(searcher: Searcher, strategy: Strategy) -> None:
    # Nothing but the view that retrieval reads holds it: with memory_revisions in `candidates` this fails.
    weights = Ranking(strategy=strategy)
    words = "The queue of payments is Redis."
    replaced = await searcher.saved(words, NORTH)
    live = await searcher.saved("The queue of payments is PostgreSQL.", NORTH, supersedes=(replaced,))
    forgotten = await searcher.saved(f"{words} Really.", NORTH)
    await searcher.client.forget(forgotten)
    revised = await searcher.saved(f"{words} Always.", NORTH)
    await searcher.client.revise(revised, 1, "Cards are stored by the provider.")
    await searcher.embed(revised, EAST)
    queue, cards = (live, "The queue of payments is PostgreSQL."), (revised, "Cards are stored by the provider.")
    asked = ((words, NORTH, {queue, cards}), (words, None, {queue}), ("unrelated", NORTH, {queue, cards}))
    for limit in range(1, 101):
        for query, vector, expected in asked:
            found = await searcher.search(query, vector, limit=limit, mode=Mode.EXPLORATORY, weights=weights)
            shown = {(hit.memory_id, hit.content) for hit in found.results}
            assert shown <= expected
            assert len(found.results) == min(limit, len(expected))


async def test_what_expired_is_not_found(searcher: Searcher, connection: asyncpg.Connection) -> None:
    soon = datetime.now(UTC) + timedelta(seconds=2)
    memory_id = await searcher.saved("Freeze deploys.", NORTH, type=MemoryType.TASK, expires_at=soon)
    assert await searcher.found("freeze deploys", NORTH) == [memory_id]
    await connection.execute("SELECT pg_sleep_until($1)", soon)

    assert await searcher.found("freeze deploys", NORTH) == []


async def test_another_project_is_not_searched(searcher: Searcher) -> None:
    await searcher.saved("We keep sessions in signed cookies.", NORTH)
    other = Searcher(await client_of(searcher.client.connection, "billing"), searcher.owner)

    assert await other.found("signed cookies", NORTH) == []


async def test_a_conversation_is_searched_only_from_inside(searcher: Searcher) -> None:
    inside = Searcher(searcher.client.speaking(conversation="c-1"), searcher.owner)
    memory_id = await inside.saved("We keep sessions in signed cookies.", NORTH, scope=Scope.CONVERSATION)

    assert await searcher.found("signed cookies", NORTH) == []
    assert await searcher.found("signed cookies", NORTH, conversation="c-2") == []
    assert await searcher.found("signed cookies", NORTH, conversation="c-1") == [memory_id]


async def test_types_and_tags_filter_both_legs(searcher: Searcher) -> None:
    fact = await searcher.saved("Sessions live in cookies.", NORTH, tags=("auth", "web"))
    decision = await searcher.saved("Cookies keep sessions.", NORTH, type=MemoryType.DECISION, tags=("auth",))

    assert await searcher.found("session cookies", NORTH, types=(MemoryType.DECISION,)) == [decision]
    assert await searcher.found("nothing shared", NORTH, types=(MemoryType.FACT,)) == [fact]
    assert set(await searcher.found("session cookies", NORTH, tags=("auth", "web"))) == {fact, decision}
    assert await searcher.found("session cookies", NORTH, tags=("auth", "web"), match_all_tags=True) == [fact]


async def test_as_of_finds_what_was_live_then_by_words_and_by_meaning(searcher: Searcher) -> None:
    old = await searcher.saved("The queue is Redis.", NORTH)
    then = await searcher.owner.fetchval("SELECT clock_timestamp()")
    await searcher.saved("Jobs are rows of PostgreSQL.", EAST, supersedes=(old,))

    assert await searcher.found("queue redis", NORTH, as_of=then) == [old]
    assert await searcher.found("unrelated wording", NORTH, as_of=then) == [old]
    assert old not in await searcher.found("queue redis", NORTH)


async def test_as_of_says_that_it_is_lexical_while_vectors_of_that_time_are_missing(searcher: Searcher) -> None:
    # Fails without _of_the_past of shared/retrieval/search.py.
    old = await searcher.saved("The queue is Redis.", NORTH)
    other = await searcher.saved("Deploys happen on Tuesdays.", UP)
    then = await searcher.owner.fetchval("SELECT clock_timestamp()")
    assert (await searcher.search("queue redis", NORTH, as_of=then)).degraded is None
    await searcher.saved("Jobs are rows of PostgreSQL.", EAST, supersedes=(old,))
    await searcher.owner.execute(
        "SET ROLE memhub_operator; DELETE FROM memhub.retired_vectors; RESET ROLE"
    )  # as search moves to a model made for what lives
    partly = await searcher.search("queue redis", NORTH, as_of=then)
    await searcher.owner.execute("DELETE FROM memhub.live_vectors WHERE memory_id = $1", other)
    await searcher.owner.execute("SET ROLE memhub_operator; DELETE FROM memhub.retired_vectors; RESET ROLE")
    wholly = await searcher.search("queue redis", NORTH, as_of=then)

    assert (partly.degraded, partly.semantic_coverage) == (PAST_NOT_BUILT, 0.5)
    assert (wholly.degraded, wholly.semantic_coverage) == (PAST_LEXICAL, 0)
    assert [hit.memory_id for hit in wholly.results] == [old]


async def test_as_of_shows_the_revision_of_that_instant(searcher: Searcher) -> None:
    memory_id = await searcher.saved("Retries: 3.", NORTH)
    then = await searcher.owner.fetchval("SELECT clock_timestamp()")
    await searcher.client.revise(memory_id, 1, "Retries: 5.")
    found = await searcher.search("retries", NORTH, as_of=then)

    assert [(hit.revision, hit.content) for hit in found.results] == [(1, "Retries: 3.")]


async def test_a_misspelt_word_is_corrected_by_the_words_that_were_counted(searcher: Searcher) -> None:
    memory_id = await searcher.saved("Invoices are archived for ten years.")
    assert await searcher.found("archvied") == []
    await frequencies.count(searcher.client.connection, searcher.client.scope.project_id)
    found = await searcher.search("archvied")

    assert [hit.memory_id for hit in found.results] == [memory_id]
    assert found.results[0].why is not None
    assert found.results[0].why["terms_matched"] == ["archvied (or archiv)"]


async def test_silence_is_told_with_how_much_came_near(searcher: Searcher) -> None:
    await searcher.saved("We keep sessions in signed cookies.", NORTH)
    found = await searcher.search("which cookies do bakers like on sunny winter mornings", UP)

    assert found.results == ()
    assert found.confidence == "low"
    assert found.guidance.startswith("No confident match among 1 memory (1 came near, but not near enough).")


async def test_a_filter_that_leaves_nothing_is_told_apart_from_silence(searcher: Searcher) -> None:
    # Fails without _is_filtered in shared/retrieval/guidance.py: the memory that answers was said not to match.
    await searcher.saved("We keep sessions in signed cookies.", NORTH)
    found = await searcher.search("sessions signed cookies", NORTH, tags=("web",))
    browsed = await searcher.search(None, tags=("web",))
    past = await searcher.search(None, as_of=datetime.now(UTC))

    assert found.guidance.startswith("No confident match among what has these types and tags, of 1 memory.")
    assert "leave them out" in found.guidance
    # Fails where browsing is sure of itself with nothing to show.
    assert (found.confidence, browsed.confidence, past.confidence) == ("low", "low", "high")
    assert browsed.guidance == "0 of the memories with these types and tags, newest first."
    assert past.guidance == "1 of the memories that held at that instant, newest first."


async def test_an_empty_project_says_that_nothing_is_stored_and_none_of_it_without_vectors(searcher: Searcher) -> None:
    """Fails without `embedded == memories` of `share`, for search and statistics alike."""
    found = await searcher.search("anything", NORTH)
    client = searcher.client

    assert found.guidance.startswith(f"Nothing is stored in the project {client.scope.slug} yet. ")
    assert found.semantic_coverage == 1
    assert (await stats(client.connection, client.scope, client.author)).semantic_coverage == 1


async def test_a_project_of_which_nothing_holds_any_more_is_not_said_to_be_new(searcher: Searcher) -> None:
    """Fails without `before` in `stored`: what was forgotten was said never to have been."""
    await searcher.client.forget(await searcher.saved("We keep sessions in signed cookies."))
    told = f"Nothing in the project {searcher.client.scope.slug} is current: what was stored is superseded, forgotten"

    assert (await searcher.search("sessions")).guidance.startswith(told)
    assert (await searcher.search(None)).guidance.startswith(told)


@pytest.mark.parametrize("query", ["&|!():*'\\", "a & !b | c:*", "'; DROP TABLE memhub.memories --", "(((", "!"])
async def test_a_query_is_never_syntax(searcher: Searcher, query: str) -> None:
    await searcher.saved("We keep sessions in signed cookies.")

    await searcher.found(query, NORTH)


async def test_a_query_of_stop_words_is_answered_by_meaning(searcher: Searcher) -> None:
    memory_id = await searcher.saved("We keep sessions in signed cookies.", NORTH)

    assert await searcher.found("what is it", NORTH) == [memory_id]
    assert await searcher.found("what is it") == []


async def test_coverage_tells_the_share_that_has_vectors(searcher: Searcher) -> None:
    await searcher.saved("Sessions live in cookies.", NORTH)
    await searcher.saved("Deploys happen on Tuesdays.")

    assert (await searcher.search("cookies", NORTH)).semantic_coverage == 0.5


def test_coverage_is_whole_only_where_nothing_is_missing() -> None:
    # Fails without the bound of `share`.
    assert (share(20_000, 20_001), share(20_001, 20_001), share(-1, 10)) == (0.9999, 1, 0)


async def test_browsing_shows_the_newest_page_by_page(searcher: Searcher) -> None:
    saved = [await searcher.saved(f"Fact number {number}.") for number in range(5)]
    first = await searcher.search(None, limit=3)
    second = await searcher.search(None, limit=3, cursor=first.next_cursor)

    assert [hit.memory_id for hit in (*first.results, *second.results)] == saved[::-1]
    assert second.next_cursor is None
    assert all(hit.score is None and hit.why is None for hit in first.results)
    with pytest.raises(InvalidArgument):
        await searcher.search(None, limit=3, cursor=first.next_cursor, tags=("other",))


async def test_what_held_once_is_not_called_the_current_state(searcher: Searcher) -> None:
    await searcher.saved("We keep sessions in signed cookies.", NORTH)
    found = await searcher.search("sessions signed cookies", NORTH, as_of=datetime.now(UTC))
    assert found.results
    assert "held at that instant" in found.guidance
    assert "current" not in found.guidance
    coming = await searcher.search("sessions signed cookies", NORTH, as_of=datetime.now(UTC) + timedelta(days=9))
    assert "still to come" in coming.guidance
    assert "held" not in coming.guidance


async def test_words_that_an_acronym_stands_for_find_it(searcher: Searcher) -> None:
    # Fails without `initials.written` in the normaliser, and with the acronym left out of `correct`.
    acronym = await searcher.saved("SBOM of every image is signed with cosign.")
    await searcher.saved("The bill is sent at the end of a month.")
    await frequencies.count(searcher.client.connection, searcher.client.scope.project_id)
    found = await searcher.search("software bill of materials")

    assert found.results[0].memory_id == acronym
    assert found.results[0].why is not None
    assert found.results[0].why["coverage"] == 1


@pytest.mark.parametrize("chunks", [1, 5])
@pytest.mark.parametrize("hidden", [0, 5])
@pytest.mark.parametrize("types", [None, (MemoryType.FACT,)])
async def test_the_leg_by_meaning_is_complete_behind_many_chunks_and_what_others_hide(
    searcher: Searcher, chunks: int, hidden: int, types: tuple[MemoryType, ...] | None
) -> None:
    # Fails without the join in `compared`, and without the look-up `visible` in `near` of retrieval.sql.
    client = searcher.client
    nearest = await searcher.saved("Of many parts.", *[NORTH] * chunks)
    second = await searcher.saved("Nearly as near.", (0.9, 0.1, 0.0))
    await searcher.saved("Far away.", UP)
    for number in range(hidden):
        elsewhere = await client.speaking(conversation="talk-1").saved(f"Talk {number}.", scope=Scope.CONVERSATION)
        await searcher.embed(elsewhere, NORTH)
    asked = await terms.ask(client.connection, client.scope, client.author, "nothing of it", model=MODEL)
    request = Search(query="nothing of it", types=types)
    found = await gather(client.connection, client.scope, client.author, request, asked, vector=NORTH, leg_rows=2)

    assert {one.memory_id: one.cosine for one in found} == {nearest: 1, second: pytest.approx(0.9, abs=0.001)}


def test_the_first_pass_grows_with_the_project() -> None:
    # Three of a hundred: with 1,000 of 100,000, four of a hundred neighbours were lost.
    sizes = (14_999, 15_000, 33_333, 50_000, 100_000)
    assert [evidence.first_pass_chunks(size) for size in sizes] == [None, 1_000, 1_000, 1_500, 3_000]


@pytest.mark.parametrize(
    ("memories", "told"), [(1, "1 memory"), (999, "999 memories"), (COUNTED_MAX, "1,000 memories or more")]
)
def test_a_count_that_ended_early_is_not_told_as_exact(memories: int, told: str) -> None:
    stored = Stored("app", memories, 1.0)
    browsed = guidance.of_browsing(Search(), shown=1, more=False, stored=stored)
    silent = guidance.of_search(Search(query="q"), None, stored=stored, gated=0)

    assert browsed == f"1 of {told}, newest first."
    assert silent.startswith(f"No confident match among {told}.")
