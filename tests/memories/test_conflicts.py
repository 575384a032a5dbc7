"""What took the place of what, as its caller may see it."""

from __future__ import annotations

from typing import Any

import asyncpg
import pytest

from shared.domain import MemoryType, Scope, Status
from shared.errors import InvalidArgument
from shared.memories.conflicts import NONE_RESOLVED, NOTHING_OPEN, Conflicts, conflicts
from shared.memories.requests import ConflictState
from tests.memories.clients import Client, client_of


async def listed(client: Client, **asked: Any) -> Conflicts:
    return await conflicts(client.connection, client.scope, client.author, **{"limit": 20} | asked)


async def test_what_was_superseded_is_told_with_its_successor_who_did_it_and_where_the_words_came_from(
    cursor: Client, claude: Client
) -> None:
    old = await cursor.saved("The queue is RabbitMQ.", type=MemoryType.DECISION)
    new = await claude.saved("The queue is PostgreSQL.", type=MemoryType.DECISION, supersedes=(old,), source="ADR 7")
    [found] = (await listed(cursor)).conflicts

    assert (found.memory_id, found.content, found.type) == (old, "The queue is RabbitMQ.", MemoryType.DECISION)
    assert (found.superseded_by, found.successor_content) == (new, "The queue is PostgreSQL.")
    assert (found.client, found.successor_source, found.retired_by) == ("claude", "ADR 7", "client")
    assert (found.successor_status, found.successor_revision) == (Status.ACTIVE, 1)


async def test_the_successor_is_shown_as_it_was_and_with_the_status_of_now(cursor: Client) -> None:
    old = await cursor.saved("Deploys on Mondays.")
    new = await cursor.saved("Deploys on Tuesdays.", supersedes=(old,))
    await cursor.revise(new, 1, "Deploys on Thursdays.")
    older = await cursor.saved("Deploys never.")
    await cursor.remember("Deploys on Thursdays.", supersedes=(older,))
    await cursor.forget(new)
    again, first = (await listed(cursor)).conflicts

    assert (first.memory_id, first.successor_content, first.successor_revision) == (old, "Deploys on Tuesdays.", 1)
    assert (again.memory_id, again.successor_content, again.successor_revision) == (older, "Deploys on Thursdays.", 2)
    assert {first.successor_status, again.successor_status} == {Status.DELETED}


async def test_pages_follow_each_other_newest_first_with_nothing_twice_and_nothing_left_out(cursor: Client) -> None:
    # Two retired by one write have one instant: the id tells them apart.
    chain = [await cursor.saved("Step 0."), await cursor.saved("Also step 0.")]
    await cursor.saved("Step 1.", supersedes=tuple(chain))
    for number in range(2, 6):
        [last] = list(await cursor.live())
        await cursor.saved(f"Step {number}.", supersedes=(last,))
        chain.append(last)
    whole = [found.memory_id for found in (await listed(cursor)).conflicts]
    paged, token = [], None
    for _ in range(3):
        page = await listed(cursor, limit=2, cursor=token)
        paged += [found.memory_id for found in page.conflicts]
        token = page.next_cursor

    assert paged == whole
    assert set(whole) == set(chain)
    assert whole[:4] == chain[:1:-1]
    assert token is None


async def test_another_conversation_is_not_told_of(cursor: Client) -> None:
    # Fails without the condition on the conversation of `memory` in conflicts.sql.
    talk, elsewhere = cursor.speaking(conversation="talk"), cursor.speaking(conversation="elsewhere")
    private = await talk.saved("Only here.", scope=Scope.CONVERSATION)
    await talk.saved("Only here, too.", scope=Scope.CONVERSATION, supersedes=(private,))
    another = await talk.saved("Soon everybody's.", scope=Scope.CONVERSATION)
    await talk.saved("Everybody's.", supersedes=(another,))

    assert [found.memory_id for found in (await listed(talk)).conflicts] == [another, private]
    for other in (cursor, elsewhere):
        assert (await listed(other)).guidance == NONE_RESOLVED


async def test_another_project_has_its_own_and_its_cursor_is_refused(
    cursor: Client, server_connection: asyncpg.Connection
) -> None:
    other = await client_of(server_connection, "shipping")
    for client in (cursor, other):
        for name in ("first", "second"):
            old = await client.saved(f"The {name} thing.")
            await client.saved(f"The {name} thing, changed.", supersedes=(old,))
    page = await listed(other, limit=1)

    assert len((await listed(cursor)).conflicts) == 2
    with pytest.raises(InvalidArgument, match="belongs to another project"):
        await listed(cursor, cursor=page.next_cursor)


@pytest.mark.parametrize("cursor_text", ["x", "bnVsbA", "W10", "WyJhIiwiYiIsImMiXQ", "é"])
async def test_what_is_no_cursor_is_refused(cursor: Client, cursor_text: str) -> None:
    with pytest.raises(InvalidArgument, match="is not a cursor of memory_conflicts"):
        await listed(cursor, cursor=cursor_text)


async def test_nothing_is_open_yet_and_that_is_no_promise(cursor: Client) -> None:
    found = await listed(cursor, state=ConflictState.OPEN)

    assert (found.conflicts, found.guidance) == ((), NOTHING_OPEN)


async def test_what_was_forgotten_took_nobodys_place(cursor: Client) -> None:
    await cursor.forget(await cursor.saved("Gone."))
    assert (await listed(cursor)).guidance == NONE_RESOLVED


async def test_it_reads_as_a_server(cursor: Client) -> None:
    async with cursor.connection.transaction(readonly=True):
        assert (await listed(cursor)).conflicts == ()
