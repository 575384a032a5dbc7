from __future__ import annotations

from datetime import UTC, datetime
from uuid import uuid4

import asyncpg
import pytest

from shared.domain import AuthorKind, MemoryType, Scope, Status
from shared.errors import InvalidArgument, MemoryNotFound
from tests.memories.clients import Client, client_of

# Gone before the next statement begins: nothing is stored that has expired already.
MICROSECOND = 1 / 86_400_000_000
FAR_AHEAD = datetime(2100, 1, 1, tzinfo=UTC)
KEY = "request-0001"


async def test_a_revision_takes_the_place_of_the_one_before(cursor: Client, claude: Client) -> None:
    memory_id = await cursor.saved("Port 8080", type=MemoryType.DECISION, category="net", tags=("a",), importance=5)
    revised = await claude.revise(memory_id, 1, "Port 9090", reason="8080 is taken")

    assert (revised.outcome, revised.previous_revision, revised.memory.revision) == ("revised", 1, 2)
    assert await cursor.live() == {memory_id: 2}
    first, second = (await cursor.history(memory_id)).revisions
    assert first.valid_to == second.valid_from == revised.memory.updated_at
    assert (second.content, second.author_client, second.reason) == ("Port 9090", "claude", "8080 is taken")
    assert (second.type, second.category, second.tags, second.importance) == (MemoryType.DECISION, "net", ("a",), 5)


async def test_the_answer_of_a_revision_is_what_a_read_would_say(cursor: Client) -> None:
    memory_id = await cursor.saved("Port 8080", tags=("a",), source="readme", author_kind=AuthorKind.HUMAN_CONFIRMED)
    revised = await cursor.revise(memory_id, 1, "Port 9090")
    stale = await cursor.revise(memory_id, 1, "Port 7070")

    assert stale.memory == revised.memory


async def test_fields_are_kept_replaced_or_cleared(cursor: Client) -> None:
    memory_id = await cursor.saved("Words", tags=("a", "b"), importance=5, expires_at=FAR_AHEAD)
    kept = await cursor.revise(memory_id, 1, "More words")
    replaced = await cursor.revise(memory_id, 2, "Other words", tags=("c",), importance=0)
    cleared = await cursor.revise(memory_id, 3, "Last words", tags=(), never_expires=True)

    assert [
        (answer.memory.tags, answer.memory.importance, answer.memory.expires_at) for answer in (kept, replaced, cleared)
    ] == [(("a", "b"), 5, FAR_AHEAD), (("c",), 0, FAR_AHEAD), ((), 0, None)]


async def test_a_stale_revision_is_told_what_won(cursor: Client, claude: Client) -> None:
    # Fails without `memory.revision_no = $5` in the statement revise.
    memory_id = await cursor.saved("Port 8080")
    await cursor.revise(memory_id, 1, "Port 9090")
    late = await claude.revise(memory_id, 1, "Port 7070")

    assert (late.outcome, late.memory.revision, late.memory.content) == ("conflict", 2, "Port 9090")
    assert late.memory.author_client == "cursor"
    assert len((await cursor.history(memory_id)).revisions) == 2


async def test_a_revision_that_does_not_exist_yet_is_a_conflict(cursor: Client) -> None:
    memory_id = await cursor.saved("Port 8080")

    assert (await cursor.revise(memory_id, 2, "Port 9090")).outcome == "conflict"


async def test_a_retired_memory_is_not_revised(cursor: Client) -> None:
    # Fails without `memory.status = 'ACTIVE'` in the statement revise and the check in revise._Write._obstacle.
    forgotten, superseded = await cursor.saved("One"), await cursor.saved("Two")
    await cursor.forget(forgotten)
    await cursor.remember("Three", supersedes=(superseded,))

    assert (await cursor.revise(forgotten, 1, "Four")).outcome == "not_active"
    gone = await cursor.revise(superseded, 1, "Five")
    assert (gone.outcome, gone.memory.status) == ("not_active", Status.SUPERSEDED)


async def test_words_that_another_memory_says_already_are_a_duplicate_of_it(cursor: Client) -> None:
    standing, memory_id = await cursor.saved("Port 9090"), await cursor.saved("Port 8080")
    refused = await cursor.revise(memory_id, 1, "port 9090.")

    assert (refused.outcome, refused.memory.memory_id) == ("duplicate", standing)
    assert await cursor.live() == {standing: 1, memory_id: 1}


async def test_its_own_words_are_no_duplicate(cursor: Client) -> None:
    memory_id = await cursor.saved("Port 8080")

    assert (await cursor.revise(memory_id, 1, "Port 8080", tags=("net",))).outcome == "revised"


async def test_words_of_a_conversation_are_a_duplicate_of_the_projects(cursor: Client) -> None:
    standing = await cursor.saved("Port 9090")
    talk = cursor.speaking(conversation="talk-1")
    private = await talk.saved("Port 8080", scope=Scope.CONVERSATION)
    refused = await talk.revise(private, 1, "Port 9090")

    assert (refused.outcome, refused.memory.memory_id) == ("duplicate", standing)


async def test_words_of_the_project_are_no_duplicate_of_a_conversations(cursor: Client) -> None:
    talk = cursor.speaking(conversation="talk-1")
    await talk.saved("Port 9090", scope=Scope.CONVERSATION)
    shared = await cursor.saved("Port 8080")

    assert (await talk.revise(shared, 1, "Port 9090")).outcome == "revised"


async def test_an_expired_twin_gives_way(cursor: Client) -> None:
    # Fails without `_EXPIRE` in locks.standing, which is called in revise._Write._obstacle.
    await cursor.saved("Port 9090", ttl_days=MICROSECOND)
    memory_id = await cursor.saved("Port 8080")

    assert (await cursor.revise(memory_id, 1, "Port 9090")).outcome == "revised"
    assert await cursor.live() == {memory_id: 2}


async def test_an_expired_memory_asks_for_a_new_end(cursor: Client) -> None:
    # Fails without the `head.expires_at` condition of the statement revise.
    memory_id = await cursor.saved("The freeze is on", ttl_days=MICROSECOND)
    refused = await cursor.revise(memory_id, 1, "The freeze goes on", client_request_id=KEY)

    assert (refused.outcome, refused.memory.expired) == ("not_active", True)
    assert len((await cursor.history(memory_id)).revisions) == 1
    assert await cursor.count("memhub.idempotency_keys") == 0


async def test_an_expiry_that_has_passed_is_refused_but_to_a_replay(
    cursor: Client, connection: asyncpg.Connection
) -> None:
    # Fails without `refuse_past` in revise._Write.carefully, or when it comes before the claim.
    memory_id = await cursor.saved("The freeze is on")
    soon = await connection.fetchval("SELECT clock_timestamp() + interval '0.5 s'")
    request = {"expires_at": soon, "client_request_id": "the-same-request"}
    first = await cursor.revise(memory_id, 1, "The freeze is on until noon", **request)
    while not await connection.fetchval("SELECT clock_timestamp() > $1", soon):
        pass
    again = await cursor.revise(memory_id, 1, "The freeze is on until noon", **request)

    assert (first.outcome, again.outcome) == ("revised", "idempotent_replay")
    with pytest.raises(InvalidArgument, match="expires_at: must be in the future"):
        await cursor.revise(memory_id, 2, "The freeze is over", expires_at=soon)


@pytest.mark.parametrize("revival", [{"expires_at": FAR_AHEAD}, {"never_expires": True}])
@pytest.mark.parametrize("reaped", [False, True])
async def test_an_expired_memory_is_revived_by_a_new_end(
    cursor: Client, connection: asyncpg.Connection, revival: dict[str, object], reaped: bool
) -> None:
    memory_id = await cursor.saved("The freeze is on", ttl_days=MICROSECOND)
    if reaped:
        await connection.execute("DELETE FROM memhub.live_memories")
    revised = await cursor.revise(memory_id, 1, "The freeze goes on", **revival)

    assert (revised.outcome, revised.memory.expired) == ("revised", False)
    assert await cursor.live() == {memory_id: 2}


@pytest.mark.parametrize("change", [{"never_expires": True}, {"expires_at": FAR_AHEAD}])
async def test_a_task_keeps_an_end_within_thirty_days(cursor: Client, change: dict[str, object]) -> None:
    memory_id = await cursor.saved("Ship it", type=MemoryType.TASK, ttl_days=7)

    with pytest.raises(InvalidArgument, match="expires_at: a TASK always expires"):
        await cursor.revise(memory_id, 1, "Ship it now", **change)
    assert (await cursor.revise(memory_id, 1, "Ship it now")).outcome == "revised"


async def test_a_revision_owes_its_own_job_and_retires_the_vectors_of_the_old(
    cursor: Client, model: int, connection: asyncpg.Connection
) -> None:
    memory_id = await cursor.saved("Port 8080")
    await connection.execute(
        "INSERT INTO memhub.live_vectors (project_id, memory_id, revision_no, model_id, dimension, chunk_no, embedding)"
        " VALUES ($1, $2, 1, $3, 3, 0, '[1,0,0]')",
        cursor.scope.project_id,
        memory_id,
        model,
    )
    await cursor.revise(memory_id, 1, "Port 9090")

    assert await cursor.count("memhub.live_vectors") == 0
    assert await cursor.count("memhub.retired_vectors") == 1
    assert await connection.fetchval(
        "SELECT array_agg(args ->> 'revision_no' ORDER BY id) FROM procrastinate_jobs"
    ) == [
        "1",
        "2",
    ]


async def test_a_memory_that_the_caller_does_not_see_is_not_found(cursor: Client) -> None:
    elsewhere = await (await client_of(cursor.connection, "billing")).saved("Elsewhere")
    private = await cursor.speaking(conversation="talk-1").saved("Private", scope=Scope.CONVERSATION)

    for unseen in (uuid4(), elsewhere, private):
        with pytest.raises(MemoryNotFound):
            await cursor.revise(unseen, 1, "Mine now")
        with pytest.raises(MemoryNotFound):
            await cursor.speaking(conversation="talk-2").revise(unseen, 1, "Mine now", client_request_id=KEY)
    assert await cursor.count("memhub.idempotency_keys") == 0


async def test_a_repeated_revision_is_replayed_with_the_same_body(cursor: Client, claude: Client) -> None:
    memory_id = await cursor.saved("Port 8080")
    first = await cursor.revise(memory_id, 1, "Port 9090", client_request_id=KEY)
    replay = await claude.revise(memory_id, 1, "Port 9090", client_request_id=KEY)

    assert (first.outcome, replay.outcome) == ("revised", "idempotent_replay")
    assert (replay.memory, replay.previous_revision) == (first.memory, 1)


async def test_a_replay_after_a_later_revision_carries_its_own_words(cursor: Client) -> None:
    memory_id = await cursor.saved("Port 8080")
    await cursor.revise(memory_id, 1, "Port 9090", client_request_id=KEY)
    await cursor.revise(memory_id, 2, "Port 7070")
    await cursor.forget(memory_id)
    replay = await cursor.revise(memory_id, 1, "Port 9090", client_request_id=KEY)

    assert (replay.outcome, replay.memory.revision, replay.memory.content) == ("idempotent_replay", 2, "Port 9090")
    assert replay.memory.status is Status.DELETED


async def test_a_revision_that_wrote_nothing_leaves_its_key_free(cursor: Client) -> None:
    # Fails without `idempotency.release` in revise._Write.carefully.
    memory_id = await cursor.saved("Port 8080")
    await cursor.saved("Port 1010")
    for expected, content in ((2, "Port 9090"), (1, "Port 1010")):
        assert (await cursor.revise(memory_id, expected, content, client_request_id=KEY)).outcome != "revised"

    assert (await cursor.revise(memory_id, 1, "Port 9090", client_request_id=KEY)).outcome == "revised"


async def test_the_reason_stands_in_the_audit(cursor: Client) -> None:
    memory_id = await cursor.saved("Port 8080")
    await cursor.revise(memory_id, 1, "Port 9090", reason="moved")

    event = (await cursor.history(memory_id)).events[-1]
    assert (event.event, event.revision) == ("revised", 2)
    assert event.details == {"reason": "moved"}
