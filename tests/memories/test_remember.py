from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import asyncpg
import orjson
import pytest

from shared.domain import AuthorKind, MemoryType, Scope, Status
from shared.errors import IdempotencyKeyReused, InvalidArgument, MemoryNotFound
from tests.memories.clients import Client, client_of

# Gone before the next statement begins: nothing is stored that has expired already.
MICROSECOND = 1 / 86_400_000_000
LONG_AGO = datetime(2024, 1, 1, tzinfo=UTC)
KEY = "request-0001"

_WRITTEN = ("memories", "memory_revisions", "live_memories", "attestations", "audit_events", "idempotency_keys")


async def _written(client: Client) -> dict[str, int]:
    tables = {table: await client.count(f"memhub.{table}") for table in _WRITTEN}
    return tables | {"jobs": await client.count("public.procrastinate_jobs")}


async def test_a_new_memory_is_created_as_it_was_said(cursor: Client) -> None:
    said = await cursor.remember(
        "We use Stripe for cards.",
        type=MemoryType.DECISION,
        category="vendors",
        tags=("stripe", "cards"),
        importance=80,
        source="ADR 7",
        author_kind=AuthorKind.HUMAN_CONFIRMED,
    )

    assert (said.outcome, said.attestations, said.embedding, said.superseded) == ("created", 1, "disabled", ())
    memory = said.memory
    assert memory is not None
    assert (memory.revision, memory.status, memory.scope) == (1, Status.ACTIVE, Scope.PROJECT)
    (revision,) = (await cursor.history(memory.memory_id)).revisions
    assert (revision.content, revision.type, revision.category) == (memory.content, memory.type, memory.category)
    assert (revision.tags, revision.importance, revision.source) == (("stripe", "cards"), 80, "ADR 7")
    assert (revision.author_client, revision.author_kind) == ("cursor", AuthorKind.HUMAN_CONFIRMED)
    assert revision.valid_from == memory.created_at == memory.updated_at
    assert await cursor.live() == {memory.memory_id: 1}


async def test_the_answer_of_a_write_is_what_a_read_would_say(cursor: Client, claude: Client) -> None:
    created = await cursor.remember("Said once", tags=("a",), ttl_days=3)
    again = await claude.remember("Said once", tags=("a",), ttl_days=3)

    assert again.memory == created.memory


async def test_a_write_owes_its_job_and_its_work_in_hand(cursor: Client, model: int) -> None:
    said = await cursor.remember("Vectors are owed")

    assert said.embedding == "pending"
    assert said.memory is not None
    job = await cursor.connection.fetchrow("SELECT queue_name, task_name, args FROM public.procrastinate_jobs")
    assert job is not None
    assert (job["queue_name"], job["task_name"]) == ("embed", "embed_revision")
    assert orjson.loads(job["args"]) == {
        "project_id": str(cursor.scope.project_id),
        "memory_id": str(said.memory.memory_id),
        "revision_no": 1,
    }
    work = await cursor.connection.fetchrow("SELECT memory_id, revision_no, model_id FROM memhub.embedding_work")
    assert tuple(work) == (said.memory.memory_id, 1, model)


async def test_without_a_model_no_job_is_owed(cursor: Client) -> None:
    await cursor.remember("No model, no job")

    assert await cursor.count("public.procrastinate_jobs") == 0


async def test_what_another_client_says_too_is_an_attestation(cursor: Client, claude: Client) -> None:
    created = await cursor.remember("Refunds take five days.")
    again = await claude.remember("  refunds take  five days")

    assert (again.outcome, again.attestations, again.differs) == ("deduplicated", 2, ())
    assert again.memory == created.memory
    assert created.memory is not None
    told = (await cursor.history(created.memory.memory_id)).attestations
    assert [attestation.author_client for attestation in told] == ["cursor", "claude"]


async def test_a_deduplicated_request_names_what_it_said_otherwise(cursor: Client, claude: Client) -> None:
    created = await cursor.remember("Refunds take five days", tags=("refunds",))
    again = await claude.remember(
        "Refunds take five days",
        type=MemoryType.CONSTRAINT,
        tags=("money",),
        expires_at=datetime(2100, 1, 1, tzinfo=UTC),
    )

    assert again.differs == ("type", "tags", "expires_at")
    assert again.memory == created.memory
    assert created.memory is not None
    attested = (await cursor.history(created.memory.memory_id)).attestations[1]
    assert (attested.type, attested.tags) == (MemoryType.CONSTRAINT, ("money",))
    assert attested.expires_at == datetime(2100, 1, 1, tzinfo=UTC)


async def test_a_type_is_corrected_by_superseding_the_memory_with_its_own_words(cursor: Client, claude: Client) -> None:
    # What the description of memory_remember tells a model to do, since memory_revise takes no type.
    fact = await cursor.saved("Refunds take five days")
    corrected = await claude.remember("Refunds take five days", type=MemoryType.CONSTRAINT, supersedes=(fact,))

    assert (corrected.outcome, corrected.superseded) == ("created", (fact,))
    assert corrected.memory is not None
    assert corrected.memory.type is MemoryType.CONSTRAINT


async def test_superseding_retires_the_old_in_the_same_write(cursor: Client, claude: Client) -> None:
    old = await cursor.saved("We deploy on Fridays")
    new = await claude.remember("We deploy on Mondays", supersedes=(old,))

    assert (new.outcome, new.superseded) == ("created", (old,))
    assert new.memory is not None
    assert await cursor.live() == {new.memory.memory_id: 1}
    life = await cursor.history(old)
    assert (life.status, life.superseded_by, life.retired_by) == (Status.SUPERSEDED, new.memory.memory_id, "client")
    assert life.retired_at == life.revisions[0].valid_to
    assert (await cursor.history(new.memory.memory_id)).supersedes == (old,)


async def test_superseding_by_what_a_third_memory_says_retires_the_targets_to_it(
    cursor: Client, claude: Client
) -> None:
    third = await cursor.saved("We deploy on Mondays")
    old = [await cursor.saved("We deploy on Fridays"), await cursor.saved("We deploy at noon")]
    again = await claude.remember("We deploy on Mondays.", supersedes=tuple(old))

    assert (again.outcome, again.superseded, again.attestations) == ("deduplicated", tuple(old), 2)
    assert again.memory is not None
    assert again.memory.memory_id == third
    assert await cursor.live() == {third: 1}
    assert {(await cursor.history(each)).superseded_by for each in old} == {third}


async def test_a_memory_superseded_by_the_same_words_makes_a_new_one(cursor: Client) -> None:
    old = await cursor.saved("We deploy on Fridays", type=MemoryType.FACT)
    new = await cursor.remember("We deploy on Fridays", type=MemoryType.DECISION, supersedes=(old,))

    assert new.outcome == "created"
    assert new.memory is not None
    assert await cursor.live() == {new.memory.memory_id: 1}


async def test_a_target_that_is_not_active_refuses_the_whole_write(cursor: Client) -> None:
    # Fails without `if obstacles` in remember._Write.carefully.
    gone, forgotten, standing = [await cursor.saved(f"Fact {number}") for number in range(3)]
    successor = await cursor.saved("Better fact", supersedes=(gone,))
    await cursor.forget(forgotten)
    before = await _written(cursor)
    refused = await cursor.remember("New", supersedes=(standing, gone, forgotten), client_request_id=KEY)

    assert (refused.outcome, refused.memory) == ("refused", None)
    assert [(each.memory_id, each.status, each.superseded_by) for each in refused.obstacles] == [
        (gone, Status.SUPERSEDED, successor),
        (forgotten, Status.DELETED, None),
    ]
    assert await _written(cursor) == before


async def test_a_refused_request_leaves_its_key_free(cursor: Client) -> None:
    # Fails without `idempotency.release` in remember._Write.carefully.
    target = await cursor.saved("Old")
    await cursor.forget(target)
    assert (await cursor.remember("New", supersedes=(target,), client_request_id=KEY)).outcome == "refused"
    await cursor.restore(target)

    assert (await cursor.remember("New", supersedes=(target,), client_request_id=KEY)).outcome == "created"


async def test_a_target_that_is_not_there_is_not_found_and_nothing_is_written(cursor: Client) -> None:
    standing = await cursor.saved("Standing")
    elsewhere = await (await client_of(cursor.connection, "billing")).saved("Elsewhere")
    private = await cursor.speaking(conversation="talk-1").saved("Private", scope=Scope.CONVERSATION)
    before = await _written(cursor)

    for unseen in (uuid4(), elsewhere, private):
        with pytest.raises(MemoryNotFound, match=f"supersedes: no memory {unseen}"):
            await cursor.remember("New", supersedes=(standing, unseen), client_request_id=KEY)
    assert await _written(cursor) == before


async def test_a_conversation_never_supersedes_a_memory_of_the_project(cursor: Client) -> None:
    shared = await cursor.saved("For everybody")
    talk = cursor.speaking(conversation="talk-1")

    with pytest.raises(InvalidArgument, match="belongs to the whole project"):
        await talk.remember("Only here", scope=Scope.CONVERSATION, supersedes=(shared,))
    assert await cursor.live() == {shared: 1}


async def test_a_conversation_supersedes_its_own_and_the_project_supersedes_it(cursor: Client) -> None:
    talk = cursor.speaking(conversation="talk-1")
    first = await talk.saved("Draft", scope=Scope.CONVERSATION)
    second = await talk.saved("Better draft", scope=Scope.CONVERSATION, supersedes=(first,))
    third = await talk.saved("Agreed", supersedes=(second,))

    assert await cursor.live() == {third: 1}
    assert (await talk.history(third)).supersedes == (second,)
    assert (await cursor.history(third)).supersedes == ()


async def test_a_conversation_attests_what_the_project_says(cursor: Client) -> None:
    shared = await cursor.saved("Known to all")
    again = await cursor.speaking(conversation="talk-1").remember("Known to all", scope=Scope.CONVERSATION)

    assert again.outcome == "deduplicated"
    assert again.memory is not None
    assert (again.memory.memory_id, again.memory.scope) == (shared, Scope.PROJECT)


async def test_the_project_does_not_attest_what_a_conversation_says(cursor: Client) -> None:
    talk = cursor.speaking(conversation="talk-1")
    private = await talk.saved("Only here", scope=Scope.CONVERSATION)
    shared = await talk.saved("Only here")
    elsewhere = cursor.speaking(conversation="talk-2")

    assert set(await cursor.live()) == {private, shared}
    assert (await elsewhere.remember("Only here", scope=Scope.CONVERSATION)).outcome == "deduplicated"


async def test_two_conversations_may_say_the_same(cursor: Client) -> None:
    talks = [cursor.speaking(conversation=name) for name in ("talk-1", "talk-2")]
    said = [await talk.saved("Only here", scope=Scope.CONVERSATION) for talk in talks]

    assert set(await cursor.live()) == set(said)
    assert (await talks[0].remember("Only here", scope=Scope.CONVERSATION)).outcome == "deduplicated"


async def test_an_expired_twin_gives_way(cursor: Client) -> None:
    # Fails without `_EXPIRE` in locks.standing, which is called in remember._Write._lock.
    expired = await cursor.saved("The freeze is on", ttl_days=MICROSECOND)
    again = await cursor.remember("The freeze is on")

    assert again.outcome == "created"
    assert again.memory is not None
    assert await cursor.live() == {again.memory.memory_id: 1}
    assert (await cursor.history(expired)).status is Status.ACTIVE


async def test_an_expired_twin_that_gave_way_tells_so_in_its_history(cursor: Client) -> None:
    # Fails without `audited` in the statement expire.
    expired = await cursor.saved("The freeze is on", ttl_days=MICROSECOND)
    await cursor.remember("The freeze is on")
    life = await cursor.history(expired)

    assert [(event.event, event.client) for event in life.events] == [("remembered", "cursor"), ("expired", "memhub")]
    ended = life.revisions[0].expires_at
    assert ended is not None
    assert datetime.fromisoformat(life.events[1].details["expires_at"]) == ended <= life.events[1].created_at


async def test_an_expired_memory_may_be_superseded(cursor: Client) -> None:
    expired = await cursor.saved("The freeze is on", ttl_days=MICROSECOND)

    assert (await cursor.remember("The freeze is over", supersedes=(expired,))).outcome == "created"
    assert (await cursor.history(expired)).status is Status.SUPERSEDED


async def test_an_expired_twin_that_is_a_target_is_superseded(cursor: Client) -> None:
    expired = await cursor.saved("The freeze is on", ttl_days=MICROSECOND)
    again = await cursor.remember("The freeze is on", supersedes=(expired,))

    assert (again.outcome, again.superseded) == ("created", (expired,))


async def test_an_expiry_that_has_passed_is_refused_and_its_key_stays_free(cursor: Client) -> None:
    # Fails without `refuse_past` in remember._Write.carefully, or without $13 in the `clock` of the statement remember.
    for key in (None, "the-same-request"):
        with pytest.raises(InvalidArgument, match="expires_at: must be in the future; it is 20"):
            await cursor.remember("The freeze is on", expires_at=LONG_AGO, client_request_id=key)

    assert await cursor.live() == {}
    assert (await cursor.remember("The freeze is on", client_request_id="the-same-request")).outcome == "created"


async def test_a_request_is_replayed_also_when_its_expiry_has_passed(
    cursor: Client, connection: asyncpg.Connection
) -> None:
    # Fails when `refuse_past` comes before the claim in remember._Write.carefully.
    soon = await connection.fetchval("SELECT clock_timestamp() + interval '0.5 s'")
    request = {"expires_at": soon, "client_request_id": "the-same-request"}
    first = await cursor.remember("The freeze is on", **request)
    while not await connection.fetchval("SELECT clock_timestamp() > $1", soon):
        pass
    again = await cursor.remember("The freeze is on", **request)

    assert (first.outcome, again.outcome) == ("created", "idempotent_replay")
    assert again.memory is not None
    assert first.memory is not None
    assert (again.memory.memory_id, again.memory.expired) == (first.memory.memory_id, True)


async def test_a_time_to_live_counts_from_the_clock_of_the_database(cursor: Client) -> None:
    said = await cursor.remember("Ship it", type=MemoryType.TASK, ttl_days=30)

    assert said.memory is not None
    assert said.memory.expires_at == said.memory.created_at + timedelta(days=30)


@pytest.mark.parametrize("expiry", [{}, {"ttl_days": 31}, {"expires_at": datetime(2100, 1, 1, tzinfo=UTC)}])
async def test_a_task_that_does_not_expire_in_time_is_refused(cursor: Client, expiry: dict[str, object]) -> None:
    # Fails with a bare driver error without the translation in remember.remember.
    with pytest.raises(InvalidArgument, match="expires_at: a TASK always expires") as told:
        await cursor.remember("For ever", type=MemoryType.TASK, client_request_id=KEY, **expiry)
    assert told.value.argument == "expires_at"
    assert await cursor.count("memhub.idempotency_keys") == 0


async def test_an_override_of_screening_stands_in_the_audit(cursor: Client) -> None:
    memory_id = await cursor.saved("The word is swordfish", acknowledged="keyword")

    (event,) = (await cursor.history(memory_id)).events
    assert (event.event, event.client, event.request_id) == ("remembered", "cursor", "request-1")
    assert event.details == {"acknowledged_sensitive": "keyword"}


async def test_a_repeated_request_is_replayed_with_the_same_body(cursor: Client, claude: Client) -> None:
    target = await cursor.saved("Old")
    first = await cursor.remember("New", supersedes=(target,), client_request_id=KEY)
    replay = await claude.remember("New", supersedes=(target,), client_request_id=KEY)

    assert replay.outcome == "idempotent_replay"
    assert (replay.memory, replay.superseded, replay.attestations) == (first.memory, (target,), 1)
    assert await cursor.count("memhub.attestations") == 2


async def test_a_replay_of_a_deduplicated_request_tells_what_it_was_told(cursor: Client) -> None:
    await cursor.saved("Twice")
    first = await cursor.remember("Twice", type=MemoryType.DECISION, client_request_id=KEY)
    await cursor.remember("Twice")
    replay = await cursor.remember("Twice", type=MemoryType.DECISION, client_request_id=KEY)

    assert replay.outcome == "idempotent_replay"
    assert (replay.attestations, replay.differs) == (2, ("type",)) == (first.attestations, first.differs)


async def test_a_replay_carries_the_status_of_now_and_the_words_of_then(cursor: Client) -> None:
    first = await cursor.remember("First words", client_request_id=KEY)
    assert first.memory is not None
    await cursor.revise(first.memory.memory_id, 1, "Second words")
    revised = await cursor.remember("First words", client_request_id=KEY)
    await cursor.forget(first.memory.memory_id)
    forgotten = await cursor.remember("First words", client_request_id=KEY)

    assert revised.memory == first.memory
    assert forgotten.memory is not None
    assert (forgotten.memory.content, forgotten.memory.status) == ("First words", Status.DELETED)


async def test_a_key_with_another_request_is_refused(cursor: Client) -> None:
    # Fails without the comparison of fingerprints in idempotency.claim.
    await cursor.remember("First", client_request_id=KEY)
    before = await _written(cursor)

    for other in ({"content": "Second"}, {"content": "First", "tags": ("x",)}):
        with pytest.raises(IdempotencyKeyReused):
            await cursor.remember(**other, client_request_id=KEY)
    with pytest.raises(IdempotencyKeyReused):
        await cursor.revise(uuid4(), 1, "First", client_request_id=KEY)
    assert await _written(cursor) == before


async def test_keys_of_two_projects_do_not_meet(cursor: Client) -> None:
    elsewhere = await client_of(cursor.connection, "billing")
    await cursor.remember("First", client_request_id=KEY)

    assert (await elsewhere.remember("First", client_request_id=KEY)).outcome == "created"


async def test_the_stored_response_holds_no_content(cursor: Client) -> None:
    await cursor.remember("Secret words", tags=("quiet",), client_request_id=KEY)

    response = await cursor.connection.fetchval("SELECT response::text FROM memhub.idempotency_keys")
    assert "words" not in response
    assert "quiet" not in response


async def test_a_write_that_fails_leaves_nothing(cursor: Client, connection: asyncpg.Connection) -> None:
    await connection.execute("ALTER TABLE memhub.live_memories ADD CHECK (false) NOT VALID")
    before = await _written(cursor)

    with pytest.raises(asyncpg.CheckViolationError):
        await cursor.remember("Never", client_request_id=KEY)
    assert await _written(cursor) == before


async def test_what_replaces_begins_at_the_instant_at_which_the_replaced_ended(
    cursor: Client, connection: asyncpg.Connection
) -> None:
    """Else a search as of an instant between the two found neither. Fails without $25 of `remember`."""
    old = await cursor.remember("Sessions live in Redis.")
    assert old.memory is not None
    new = await cursor.remember("Sessions live in cookies.", supersedes=(old.memory.memory_id,))
    assert new.memory is not None
    ended = await connection.fetchval(
        "SELECT valid_to FROM memhub.memory_revisions WHERE memory_id = $1", old.memory.memory_id
    )
    assert ended == new.memory.created_at
