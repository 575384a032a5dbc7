"""Two clients whose steps are put in one order: the first has written and not committed when the second writes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

import asyncpg
import pytest

from shared import statements
from shared.domain import Status
from tests.memories.backends import WAIT_S, backends, until_blocked
from tests.memories.clients import Client, client_of

KEY, OTHER_KEY = "request-0001", "request-0002"
STORED = statements.load("idempotency")["stored"]

_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class Pair:
    """`first` may hold a transaction open while `second` writes; `observer` looks on."""

    first: Client
    second: Client
    observer: asyncpg.Connection

    async def meanwhile(
        self, held: Coroutine[Any, Any, Any], met: Coroutine[Any, Any, _Answer], *, commits: bool
    ) -> _Answer:
        """The answer to `met`, which waited for the transaction of `held` until that ended."""
        transaction = self.first.connection.transaction()
        await transaction.start()
        await held
        waiting = asyncio.create_task(met)
        await until_blocked(self.observer, [self.second.connection])
        await (transaction.commit() if commits else transaction.rollback())
        async with asyncio.timeout(WAIT_S):
            return await waiting


@pytest.fixture
async def pair(database_url: str, connection: asyncpg.Connection) -> AsyncIterator[Pair]:
    async with backends(database_url, 2) as (one, other):
        first = await client_of(one, "payments")
        yield Pair(first, Client(other, first.scope, first.speaking("claude").author), connection)


async def test_a_revision_that_waited_for_another_is_told_what_won(pair: Pair) -> None:
    memory_id = await pair.first.saved("Port 8080")
    answer = await pair.meanwhile(
        pair.first.revise(memory_id, 1, "Port 9090"), pair.second.revise(memory_id, 1, "Port 7070"), commits=True
    )

    assert (answer.outcome, answer.memory.content, answer.memory.revision) == ("conflict", "Port 9090", 2)


async def test_a_revision_that_waited_for_one_that_was_undone_is_written(pair: Pair) -> None:
    memory_id = await pair.first.saved("Port 8080")
    answer = await pair.meanwhile(
        pair.first.revise(memory_id, 1, "Port 9090"), pair.second.revise(memory_id, 1, "Port 7070"), commits=False
    )

    assert (answer.outcome, answer.memory.content, answer.memory.revision) == ("revised", "Port 7070", 2)


async def test_a_revision_begins_after_the_one_before_it_though_its_transaction_is_older(pair: Pair) -> None:
    # Fails with now() for clock_timestamp() in the statement revise: it would end the other before that began.
    memory_id = await pair.first.saved("Port 8080")
    async with pair.second.connection.transaction():
        began = await pair.second.connection.fetchval("SELECT now()")
        await pair.first.revise(memory_id, 1, "Port 9090")
        await pair.second.revise(memory_id, 2, "Port 7070")

    _first, second, third = (await pair.first.history(memory_id)).revisions
    assert second.valid_to is not None
    assert began < second.valid_from < second.valid_to == third.valid_from


async def test_a_retry_waits_for_the_request_in_flight_and_is_its_replay(pair: Pair) -> None:
    answer = await pair.meanwhile(
        pair.first.remember("Said once", client_request_id=KEY),
        pair.second.remember("Said once", client_request_id=KEY),
        commits=True,
    )

    assert answer.outcome == "idempotent_replay"
    assert await pair.first.count("memhub.memories") == 1


async def test_a_retry_writes_when_the_request_in_flight_was_undone(pair: Pair) -> None:
    answer = await pair.meanwhile(
        pair.first.remember("Said once", client_request_id=KEY),
        pair.second.remember("Said once", client_request_id=KEY),
        commits=False,
    )

    assert answer.outcome == "created"
    assert await pair.first.count("memhub.memories") == 1


async def test_a_retry_writes_when_the_connection_of_the_first_request_dies(pair: Pair) -> None:
    await pair.first.connection.execute("BEGIN")
    await pair.first.remember("Said once", client_request_id=KEY)
    retry = asyncio.create_task(pair.second.remember("Said once", client_request_id=KEY))
    await until_blocked(pair.observer, [pair.second.connection])
    await pair.observer.execute("SELECT pg_cancel_backend($1)", pair.first.connection.get_server_pid())
    await pair.first.connection.execute("ROLLBACK")

    assert (await retry).outcome == "created"


async def test_a_revision_with_a_key_in_flight_is_replayed_and_no_conflict(pair: Pair) -> None:
    # Fails when the key is claimed after the lock of the memory in revise._Write.carefully.
    memory_id = await pair.first.saved("Port 8080")
    answer = await pair.meanwhile(
        pair.first.revise(memory_id, 1, "Port 9090", client_request_id=KEY),
        pair.second.revise(memory_id, 1, "Port 9090", client_request_id=KEY),
        commits=True,
    )

    assert answer.outcome == "idempotent_replay"


class Collected(asyncpg.Connection):  # type: ignore[misc]
    """The collector comes between its two statements of a claim, once."""

    collector: asyncpg.Connection | None = None

    async def fetchrow(self, query: str, *arguments: Any, **options: Any) -> Any:
        if query == STORED and self.collector is not None:
            await self.collector.execute("DELETE FROM memhub.idempotency_keys")
            self.collector = None
        return await super().fetchrow(query, *arguments, **options)


async def test_a_key_that_is_collected_while_its_retry_looks_it_up_is_a_race(
    database_url: str, connection: asyncpg.Connection
) -> None:
    # Fails without Raced in idempotency.claim: there is no answer under the key any more, and none is made up.
    met = await asyncpg.connect(database_url, connection_class=Collected)
    await met.execute("SET ROLE memhub_server")
    client = await client_of(met, "payments")
    memory_id = await client.saved("Port 8080", client_request_id=KEY)
    met.collector = connection
    retried = await client.remember("Port 8080", client_request_id=KEY)
    await client.revise(memory_id, 1, "Port 9090", client_request_id=OTHER_KEY)
    met.collector = connection
    revised = await client.revise(memory_id, 1, "Port 9090", client_request_id=OTHER_KEY)
    await met.close()

    assert (retried.outcome, revised.outcome) == ("deduplicated", "conflict")


@pytest.mark.parametrize(("commits", "outcome", "attestations"), [(True, "deduplicated", 2), (False, "created", 1)])
async def test_what_is_being_said_already_is_waited_for(
    pair: Pair, commits: bool, outcome: str, attestations: int
) -> None:
    # Fails without the constraint live_memories_content: both would be created.
    answer = await pair.meanwhile(
        pair.first.remember("Refunds take five days"), pair.second.remember("refunds take five days."), commits=commits
    )

    assert (answer.outcome, answer.attestations) == (outcome, attestations)
    assert len(await pair.first.live()) == 1


async def test_what_is_being_reaped_is_said_anew_and_expires_once(pair: Pair) -> None:
    # Fails without the twins in the lock of remember._Write._lock.
    expired = await pair.first.saved("The freeze is on", ttl_days=1 / 86_400_000_000)
    answer = await pair.meanwhile(reap(pair.first.connection), pair.second.remember("The freeze is on"), commits=True)

    assert answer.outcome == "created"
    life = await pair.first.history(expired)
    assert [event.event for event in life.events] == ["remembered", "expired"]


async def reap(connection: asyncpg.Connection) -> None:
    """What shared.retention does in one of its transactions."""
    locked = await connection.fetch(statements.load("retention")["lock_expired"], 1)
    keys = [row["project_id"] for row in locked], [row["id"] for row in locked]
    assert await connection.fetchval(statements.load("memories")["expire"], *keys) == 1


async def test_what_is_being_forgotten_is_said_anew(pair: Pair) -> None:
    # Fails without the second look at the twins in remember._Write._lock.
    memory_id = await pair.first.saved("Port 8080")
    answer = await pair.meanwhile(pair.first.forget(memory_id), pair.second.remember("Port 8080"), commits=True)

    assert answer.outcome == "created"
    assert answer.memory is not None
    assert await pair.first.live() == {answer.memory.memory_id: 1}


async def test_what_is_being_revised_to_these_words_is_attested(pair: Pair) -> None:
    memory_id = await pair.first.saved("Port 8080")
    answer = await pair.meanwhile(
        pair.first.revise(memory_id, 1, "Port 9090"), pair.second.remember("Port 9090"), commits=True
    )

    assert answer.outcome == "deduplicated"
    assert answer.memory is not None
    assert (answer.memory.memory_id, answer.memory.revision) == (memory_id, 2)


async def test_a_memory_superseded_while_it_is_revised_keeps_both_revisions(pair: Pair) -> None:
    memory_id = await pair.first.saved("Port 8080")
    answer = await pair.meanwhile(
        pair.first.revise(memory_id, 1, "Port 9090"),
        pair.second.remember("No port", supersedes=(memory_id,)),
        commits=True,
    )

    assert answer.outcome == "created"
    life = await pair.first.history(memory_id)
    assert (life.status, len(life.revisions)) == (Status.SUPERSEDED, 2)
    assert life.revisions[1].valid_to == life.retired_at


async def test_two_supersessions_of_one_target_are_one(pair: Pair) -> None:
    target = await pair.first.saved("Old")
    answer = await pair.meanwhile(
        pair.first.remember("New", supersedes=(target,)),
        pair.second.remember("Newer", supersedes=(target,), client_request_id=KEY),
        commits=True,
    )

    assert (answer.outcome, [each.status for each in answer.obstacles]) == ("refused", [Status.SUPERSEDED])
    assert await pair.first.count("memhub.memories") == 2
    assert await pair.first.count("memhub.idempotency_keys") == 0


async def test_a_memory_forgotten_while_it_is_revised_is_forgotten_with_its_new_words(pair: Pair) -> None:
    # Fails with a foreign key without `memory.revision_no = head.revision_no` in the statement forget.
    memory_id = await pair.first.saved("Port 8080")
    answer = await pair.meanwhile(
        pair.first.revise(memory_id, 1, "Port 9090"), pair.second.forget(memory_id), commits=True
    )

    assert (answer.outcome, answer.memory.revision) == ("forgotten", 2)
    assert await pair.first.live() == {}


async def test_a_memory_revised_while_it_is_forgotten_is_not_active(pair: Pair) -> None:
    memory_id = await pair.first.saved("Port 8080")
    answer = await pair.meanwhile(
        pair.first.forget(memory_id), pair.second.revise(memory_id, 1, "Port 9090"), commits=True
    )

    assert answer.outcome == "not_active"


@pytest.mark.parametrize(("commits", "outcome"), [(True, "duplicate"), (False, "restored")])
async def test_a_restore_waits_for_the_twin_that_is_being_said(pair: Pair, commits: bool, outcome: str) -> None:
    memory_id = await pair.first.saved("Port 8080")
    await pair.first.forget(memory_id)
    answer = await pair.meanwhile(pair.first.remember("Port 8080"), pair.second.restore(memory_id), commits=commits)

    assert answer.outcome == outcome
    assert len(await pair.first.live()) == 1


async def test_an_open_revision_blocks_no_bookkeeping(pair: Pair) -> None:
    # Fails when counter_deltas, audit_events or idempotency_keys reference memories.
    memory_id = await pair.first.saved("Port 8080")
    async with pair.first.connection.transaction(), asyncio.timeout(WAIT_S):
        await pair.first.revise(memory_id, 1, "Port 9090")
        await pair.second.connection.execute(
            "INSERT INTO memhub.counter_deltas (project_id, memory_id, counter, hits, created_at)"
            " VALUES ($1, $2, 'search', 1, clock_timestamp())",
            pair.first.scope.project_id,
            memory_id,
        )
        await pair.second.connection.execute(
            "INSERT INTO memhub.audit_events (tenant, project_id, memory_id, event, client, created_at)"
            " VALUES ($1, $2, $3, 'seen', 'claude', clock_timestamp())",
            pair.first.scope.tenant,
            pair.first.scope.project_id,
            memory_id,
        )
        await pair.second.saved("Another memory", client_request_id=KEY)


async def _write_vector(client: Client, table: str, memory_id: object, revision: int) -> None:
    await client.connection.execute(
        f"INSERT INTO memhub.{table} (project_id, memory_id, revision_no, model_id, dimension, chunk_no, embedding)"
        " SELECT $1, $2, $3, id, 3, 0, '[1,0,0]' FROM memhub.embedding_models",
        client.scope.project_id,
        memory_id,
        revision,
    )


async def test_a_vector_committed_while_a_revision_waits_for_it_is_kept(pair: Pair, model: int) -> None:
    # Fails without the trigger live_vectors_keep: the revision's snapshot does not hold the vector.
    memory_id = await pair.first.saved("Port 8080")
    answer = await pair.meanwhile(
        _write_vector(pair.first, "live_vectors", memory_id, 1),
        pair.second.revise(memory_id, 1, "Port 9090"),
        commits=True,
    )

    assert answer.outcome == "revised"
    assert await pair.first.count("memhub.live_vectors") == 0
    assert await pair.first.count("memhub.retired_vectors") == 1


async def test_a_vector_that_comes_while_its_revision_passes_is_refused(pair: Pair, model: int) -> None:
    # Fails without the foreign key of live_vectors to live_memories.
    memory_id = await pair.first.saved("Port 8080")
    with pytest.raises(asyncpg.ForeignKeyViolationError):
        await pair.meanwhile(
            pair.first.revise(memory_id, 1, "Port 9090"),
            _write_vector(pair.second, "live_vectors", memory_id, 1),
            commits=True,
        )
    await _write_vector(pair.second, "retired_vectors", memory_id, 1)
