from __future__ import annotations

from datetime import timedelta

import asyncpg

from shared.retrieval import frequencies
from tests.memories.clients import client_of
from tests.retrieval.searching import Searcher


async def counted(searcher: Searcher) -> dict[str, int]:
    rows = await searcher.owner.fetch(
        "SELECT lexeme, documents FROM memhub.term_frequencies WHERE project_id = $1",
        searcher.client.scope.project_id,
    )
    return {row["lexeme"]: row["documents"] for row in rows}


async def count(searcher: Searcher) -> int | None:
    return await frequencies.count(searcher.client.connection, searcher.client.scope.project_id)


async def test_each_word_is_counted_once_a_memory(searcher: Searcher) -> None:
    await searcher.saved("The queue, the queue and the queue.")
    await searcher.saved("A queue of jobs.")

    assert await count(searcher) == 2
    assert await counted(searcher) == {"queue": 2, "job": 1}


async def test_words_of_retired_memories_are_counted_no_more(searcher: Searcher) -> None:
    memory_id = await searcher.saved("Redis holds the queue.")
    await searcher.saved("PostgreSQL holds sessions.")
    await count(searcher)
    await searcher.client.forget(memory_id)

    assert await count(searcher) == 1
    assert "redi" not in await counted(searcher)


async def test_a_project_is_due_once_and_again_after_a_write(searcher: Searcher) -> None:
    server, project = searcher.client.connection, searcher.client.scope.project_id
    await client_of(server, "empty")
    assert await frequencies.due(server) == []
    await searcher.saved("A queue of jobs.")
    assert await frequencies.due(server) == [project]

    assert await frequencies.refresh(server) == 1
    assert await frequencies.due(server) == []
    await searcher.saved("Another queue.")
    await dated_back(searcher, timedelta(minutes=1))
    assert await frequencies.refresh(server) == 1


async def test_a_project_is_due_after_a_revise_and_after_a_forget(searcher: Searcher) -> None:
    # Fails where `due` looks at created_at, or not at how many memories there are.
    server = searcher.client.connection
    memory_id = await searcher.saved("A queue of jobs.")
    await count(searcher)
    await searcher.client.revise(memory_id, 1, content="A vermilion queue.")
    await dated_back(searcher, timedelta(minutes=1))
    assert await frequencies.refresh(server) == 1
    assert "vermilion" in await counted(searcher)

    await searcher.client.forget(memory_id)
    await dated_back(searcher, timedelta(minutes=1))
    assert await frequencies.refresh(server) == 1
    assert await counted(searcher) == {}


async def test_a_count_of_yesterday_is_made_anew(searcher: Searcher) -> None:
    await searcher.saved("A queue of jobs.")
    await count(searcher)
    await dated_back(searcher, timedelta(days=2))

    assert await frequencies.due(searcher.client.connection) == [searcher.client.scope.project_id]


async def test_a_second_counter_of_the_same_project_has_nothing_to_do(
    searcher: Searcher, connection: asyncpg.Connection
) -> None:
    await searcher.saved("A queue of jobs.")
    lock = "SELECT pg_advisory_xact_lock(hashtextextended('memhub.term_frequencies ' || $1::text, 0))"
    async with connection.transaction():
        await connection.execute(lock, str(searcher.client.scope.project_id))
        assert await count(searcher) is None

    assert await count(searcher) == 1


async def dated_back(searcher: Searcher, age: timedelta) -> None:
    await searcher.owner.execute("UPDATE memhub.counted_projects SET counted_at = counted_at - $1::interval", age)
