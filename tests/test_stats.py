"""memory_stats: exact counts of what the caller may see."""

from __future__ import annotations

import asyncpg
import pytest

from shared import projects
from shared.counters import CounterBuffer
from shared.domain import Author, MemoryType, ProjectScope, Scope, Status
from shared.memories.forget import forget
from shared.memories.remember import remember
from shared.memories.requests import Remember, Revise
from shared.memories.revise import revise
from shared.memories.stats import stats

AUTHOR = Author(client="tests")
TALK = Author(client="tests", conversation="talk")


@pytest.fixture
async def scope(connection: asyncpg.Connection) -> ProjectScope:
    return (await projects.use(connection, "local", AUTHOR, project="counted", aliases={}, create=True)).project


async def test_memories_are_counted_by_status_type_and_scope(
    connection: asyncpg.Connection, scope: ProjectScope
) -> None:
    first = (await remember(connection, scope, AUTHOR, Remember(content="one"))).memory
    assert first is not None
    await remember(connection, scope, AUTHOR, Remember(content="two", type=MemoryType.DECISION))
    request = Remember(content="three", supersedes=(first.memory_id,))
    third = (await remember(connection, scope, AUTHOR, request)).memory
    assert third is not None
    await revise(connection, scope, AUTHOR, Revise(memory_id=third.memory_id, expected_revision=1, content="III"))
    gone = (await remember(connection, scope, AUTHOR, Remember(content="four"))).memory
    assert gone is not None
    await forget(connection, scope, AUTHOR, gone.memory_id)
    counted = await stats(connection, scope, AUTHOR)

    assert counted.by_status() == {Status.ACTIVE: 2, Status.SUPERSEDED: 1, Status.DELETED: 1}
    assert counted.by_type()[MemoryType.FACT] == counted.by_type()[MemoryType.DECISION] == 1
    assert (counted.searchable, counted.embedded, counted.semantic_coverage) == (2, 0, 0.0)
    assert [written.content for written in counted.last_writes] == ["III", "two"]


async def test_another_conversation_is_not_counted(connection: asyncpg.Connection, scope: ProjectScope) -> None:
    await remember(connection, scope, AUTHOR, Remember(content="everybody's"))
    await remember(connection, scope, TALK, Remember(content="said in the talk", scope=Scope.CONVERSATION))
    elsewhere = Author(client="tests", conversation="elsewhere")

    assert (await stats(connection, scope, TALK)).by_scope() == {Scope.PROJECT: 1, Scope.CONVERSATION: 1}
    for author in (AUTHOR, elsewhere):
        seen = await stats(connection, scope, author)
        assert seen.by_scope() == {Scope.PROJECT: 1, Scope.CONVERSATION: 0}
        assert (seen.searchable, len(seen.last_writes)) == (1, 1)


async def test_an_expired_memory_is_told_apart(connection: asyncpg.Connection, scope: ProjectScope) -> None:
    await remember(connection, scope, AUTHOR, Remember(content="short", ttl_days=1 / 86_400_000_000))
    counted = await stats(connection, scope, AUTHOR)

    assert (counted.by_status()[Status.ACTIVE], counted.expired, counted.searchable) == (1, 1, 0)


async def test_the_most_used_come_first(connection: asyncpg.Connection, scope: ProjectScope) -> None:
    buffer = CounterBuffer()
    for content, hits in (("seldom", 1), ("often", 5)):
        memory = (await remember(connection, scope, AUTHOR, Remember(content=content))).memory
        assert memory is not None
        for _ in range(hits):
            buffer.count(scope.project_id, [memory.memory_id], "search")
    await buffer.flush(connection)
    await connection.execute(
        """INSERT INTO memhub.memory_counters (project_id, memory_id, search_hits, used_at)
           SELECT project_id, memory_id, hits, created_at FROM memhub.counter_deltas"""
    )

    assert [(used.content, used.search_hits) for used in (await stats(connection, scope, AUTHOR)).most_used] == [
        ("often", 5),
        ("seldom", 1),
    ]
