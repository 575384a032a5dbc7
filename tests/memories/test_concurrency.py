"""Fifty clients at once on fifty backends, all let loose from one lock; each test ends with the checker."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator

import asyncpg
import pytest

from shared.errors import IdempotencyKeyReused
from tests.memories.backends import backends, deadlocks, released_together
from tests.memories.clients import Client, client_of

WRITERS = 50
ROUNDS = 20
KEY = "request-0001"


@pytest.fixture
async def fifty(database_url: str) -> AsyncIterator[list[Client]]:
    """Fifty clients of one project, each on a backend of its own."""
    async with backends(database_url, WRITERS) as connections:
        first = await client_of(connections[0], "payments")
        yield [Client(each, first.scope, first.speaking(f"client-{i}").author) for i, each in enumerate(connections)]


async def test_of_fifty_revisions_of_one_head_one_wins_and_each_other_is_told_what_won(
    fifty: list[Client], connection: asyncpg.Connection
) -> None:
    # Fails without `memory.revision_no = $5` in the UPDATE of the statement revise.
    memory_id = await fifty[0].saved("round 0")
    for number in range(1, ROUNDS + 1):
        answers = await released_together(
            connection,
            f"SELECT FROM memhub.memories WHERE id = '{memory_id}' FOR UPDATE",
            [each.revise(memory_id, number, f"round {number} by {each.author.client}") for each in fifty],
            [each.connection for each in fifty],
        )

        (winner,) = [answer for answer in answers if answer.outcome == "revised"]
        losers = [answer for answer in answers if answer.outcome == "conflict"]
        assert len(losers) == WRITERS - 1
        assert {answer.memory for answer in losers} == {winner.memory}
        assert winner.memory.revision == number + 1
    assert len((await fifty[0].history(memory_id)).revisions) == ROUNDS + 1


async def test_of_fifty_equal_requests_one_is_created_and_the_others_are_its_replay(
    fifty: list[Client], connection: asyncpg.Connection
) -> None:
    # Fails without UniqueViolationError in races.run, and when the statement stored does not find what was claimed.
    claimed = (
        "INSERT INTO memhub.idempotency_keys (project_id, key, fingerprint, response, created_at)"
        f" VALUES ('{fifty[0].scope.project_id}', '{KEY}', sha256('x'), '{{}}', clock_timestamp())"
    )
    answers = await released_together(
        connection,
        claimed,
        [each.remember("Said once", tags=("a",), client_request_id=KEY) for each in fifty],
        [each.connection for each in fifty],
    )

    assert Counter(answer.outcome for answer in answers) == {"created": 1, "idempotent_replay": WRITERS - 1}
    assert len({(answer.memory, answer.attestations, answer.superseded) for answer in answers}) == 1
    assert await fifty[0].count("memhub.memories") == await fifty[0].count("memhub.attestations") == 1
    with pytest.raises(IdempotencyKeyReused):
        await fifty[1].remember("Said otherwise", tags=("a",), client_request_id=KEY)


async def test_of_fifty_equal_revisions_with_one_key_one_is_written_and_none_is_a_conflict(
    fifty: list[Client], connection: asyncpg.Connection
) -> None:
    # Fails when the key is claimed after the lock of the memory in revise._Write.carefully.
    memory_id = await fifty[0].saved("First")
    answers = await released_together(
        connection,
        f"SELECT FROM memhub.memories WHERE id = '{memory_id}' FOR UPDATE",
        [each.revise(memory_id, 1, "Second", client_request_id=KEY) for each in fifty],
        [each.connection for each in fifty],
    )

    assert Counter(answer.outcome for answer in answers) == {"revised": 1, "idempotent_replay": WRITERS - 1}
    assert len({answer.memory for answer in answers}) == 1


async def test_fifty_clients_that_say_the_same_make_one_memory_with_fifty_attestations(
    fifty: list[Client], connection: asyncpg.Connection
) -> None:
    # Fails without the constraint live_memories_content, and without UniqueViolationError in races.run.
    answers = await released_together(
        connection,
        "LOCK TABLE memhub.live_memories IN SHARE MODE",
        [each.remember("We all know it") for each in fifty],
        [each.connection for each in fifty],
    )

    assert Counter(answer.outcome for answer in answers) == {"created": 1, "deduplicated": WRITERS - 1}
    assert len({answer.memory for answer in answers}) == 1
    assert {answer.attestations for answer in answers} == set(range(1, WRITERS + 1))
    assert await fifty[0].count("memhub.memories") == 1
    assert await fifty[0].count("memhub.attestations") == WRITERS


async def test_of_fifty_supersessions_of_one_target_one_wins_and_nothing_of_the_others_is_written(
    fifty: list[Client], connection: asyncpg.Connection
) -> None:
    # Fails without `if obstacles` in remember._Write.carefully: retire then finds no ACTIVE row and says nothing.
    target = await fifty[0].saved("Old")
    answers = await released_together(
        connection,
        f"SELECT FROM memhub.memories WHERE id = '{target}' FOR UPDATE",
        [
            each.remember(f"New by {each.author.client}", supersedes=(target,), client_request_id=f"request-{i:04}")
            for i, each in enumerate(fifty)
        ],
        [each.connection for each in fifty],
    )

    (winner,) = [answer for answer in answers if answer.outcome == "created"]
    losers = [answer for answer in answers if answer.outcome == "refused"]
    assert len(losers) == WRITERS - 1
    assert winner.memory is not None
    assert {obstacle.superseded_by for loser in losers for obstacle in loser.obstacles} == {winner.memory.memory_id}
    assert await fifty[0].live() == {winner.memory.memory_id: 1}
    counts = [await fifty[0].count(f"memhub.{table}") for table in ("memories", "memory_revisions", "attestations")]
    assert counts == [2, 2, 2]
    assert await fifty[0].count("memhub.idempotency_keys") == 1
    assert await fifty[0].count("memhub.audit_events WHERE memory_id IS NOT NULL") == 3


async def test_of_fifty_restores_one_brings_it_back(fifty: list[Client], connection: asyncpg.Connection) -> None:
    # Fails without the comparison with what was read in forget._restore and the constraint live_memories_content, each
    # of which holds it alone.
    memory_id = await fifty[0].saved("Forgotten")
    await fifty[0].forget(memory_id)
    answers = await released_together(
        connection,
        f"SELECT FROM memhub.memories WHERE id = '{memory_id}' FOR UPDATE",
        [each.restore(memory_id) for each in fifty],
        [each.connection for each in fifty],
    )

    assert Counter(answer.outcome for answer in answers) == {"restored": 1, "already_active": WRITERS - 1}
    assert await fifty[0].live() == {memory_id: 2}


async def test_a_deadlock_would_be_seen(database_url: str) -> None:
    # That the other tests count none proves something only because one is counted here.
    first, second = [await asyncpg.connect(database_url) for _ in range(2)]
    await first.execute("BEGIN; SELECT pg_advisory_xact_lock(1)")
    await second.execute("BEGIN; SELECT pg_advisory_xact_lock(2)")
    crossing = [
        asyncio.create_task(first.execute("SELECT pg_advisory_xact_lock(2); COMMIT")),
        asyncio.create_task(second.execute("SELECT pg_advisory_xact_lock(1); COMMIT")),
    ]
    ended = await asyncio.gather(*crossing, return_exceptions=True)
    await first.execute("ROLLBACK")
    await second.execute("ROLLBACK")

    assert [type(end) for end in ended].count(asyncpg.DeadlockDetectedError) == 1
    assert await deadlocks([first, second]) == 1
    await first.close()
    await second.close()
