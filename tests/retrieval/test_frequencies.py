from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import asyncpg
import pytest

from shared import statements
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


async def test_a_project_whose_count_fails_keeps_no_other_from_its_turn(searcher: Searcher) -> None:
    # Fails without `_PUT_OFF` in `refresh`: a run that takes one project takes the same one for ever.
    server = searcher.client.connection
    failing, other = await two_projects(searcher)
    with pytest.raises(asyncpg.QueryCanceledError):
        await frequencies.refresh(server, projects_max=1)

    assert await frequencies.due(server) == [other, failing]
    assert await frequencies.refresh(server, projects_max=1) == 1
    assert await frequencies.due(server) == [failing]


async def test_the_rest_of_a_run_is_counted_when_one_count_fails(searcher: Searcher) -> None:
    # Fails without the `except` around `count` in `refresh`.
    failing, _ = await two_projects(searcher)
    with pytest.raises(asyncpg.QueryCanceledError):
        await frequencies.refresh(searcher.client.connection)

    assert await frequencies.due(searcher.client.connection) == [failing]


async def test_a_project_is_counted_when_its_count_fails_no_more(searcher: Searcher) -> None:
    # Fails where `due` asks whether there is a row instead of whether it was counted.
    server = searcher.client.connection
    failing, _ = await two_projects(searcher)
    with pytest.raises(asyncpg.QueryCanceledError):
        await frequencies.refresh(server)
    await searcher.owner.execute("DROP TRIGGER failing ON memhub.term_frequencies")

    assert await frequencies.refresh(server) == 1
    told = "SELECT memories, failed_at FROM memhub.counted_projects WHERE project_id = $1"
    assert tuple(await searcher.owner.fetchrow(told, failing)) == (1, None)


async def test_an_import_into_a_project_whose_count_failed_leaves_it_due(searcher: Searcher) -> None:
    # Fails without `counted_at IS NOT NULL` in `count_again`.
    failing, _ = await two_projects(searcher)
    with pytest.raises(asyncpg.QueryCanceledError):
        await frequencies.refresh(searcher.client.connection)
    await searcher.owner.execute(statements.load("moving")["count_again"], [failing])

    assert await frequencies.due(searcher.client.connection) == [failing]


async def two_projects(searcher: Searcher) -> tuple[UUID, UUID]:
    """The first, whose count meets its time limit, and the second, both never counted."""
    other = await client_of(searcher.client.connection, "other")
    await searcher.saved("A queue of jobs.")
    await other.saved("Another queue.")
    first, second = sorted((searcher.client.scope.project_id, other.scope.project_id))
    await searcher.owner.execute(
        f"""CREATE FUNCTION pg_temp.cancelled() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN RAISE EXCEPTION 'too slow' USING ERRCODE = 'query_canceled'; END $$;
            CREATE TRIGGER failing BEFORE INSERT ON memhub.term_frequencies FOR EACH ROW
            WHEN (NEW.project_id = '{first}') EXECUTE FUNCTION pg_temp.cancelled()"""
    )
    return first, second


async def dated_back(searcher: Searcher, age: timedelta) -> None:
    await searcher.owner.execute("UPDATE memhub.counted_projects SET counted_at = counted_at - $1::interval", age)
