from __future__ import annotations

from uuid import UUID, uuid4

import asyncpg
import pytest

from shared import statements
from shared.domain import AuthorKind, MemoryType, Scope, Status
from shared.errors import MemoryNotFound
from shared.memories import rows
from tests.memories.clients import Client, client_of

# Gone before the next statement begins: nothing is stored that has expired already.
MICROSECOND = 1 / 86_400_000_000

_RETIRE = statements.load("memories")["retire"]


class _Once:
    """A connection whose second statement is cancelled."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection
        self._statements = 0

    async def fetchrow(self, *arguments: object) -> asyncpg.Record | None:
        self._statements += 1
        if self._statements > 1:
            raise asyncpg.QueryCanceledError("canceling statement due to statement timeout")
        return await self._connection.fetchrow(*arguments)


async def _judged(client: Client, memory_id: UUID, successor: UUID) -> None:
    """Supersedes as a judge does."""
    scope = client.scope
    await client.connection.execute(
        _RETIRE, scope.project_id, scope.tenant, [memory_id], successor, "judge", "judge", None, "{}"
    )


async def test_what_is_forgotten_is_found_no_more_and_kept(cursor: Client, claude: Client) -> None:
    memory_id = await cursor.saved("Port 8080")
    forgotten = await claude.forget(memory_id, reason="wrong")

    assert (forgotten.outcome, forgotten.memory.status) == ("forgotten", Status.DELETED)
    assert await cursor.live() == {}
    life = await cursor.history(memory_id)
    assert (life.retired_by, life.revisions[0].content) == ("client", "Port 8080")
    assert life.retired_at == life.revisions[0].valid_to
    assert (life.events[-1].event, life.events[-1].client, life.events[-1].details) == (
        "forgotten",
        "claude",
        {"reason": "wrong"},
    )


async def test_a_forget_that_committed_needs_no_second_statement(cursor: Client) -> None:
    # Fails with a rows.read before the answer `forgotten`: cancelled there, what was written was told as not written.
    memory_id = await cursor.saved("Port 8080", tags=("net",), category="ports", importance=70, source="README")
    once = Client(_Once(cursor.connection), cursor.scope, cursor.author)
    forgotten = await once.forget(memory_id)

    assert forgotten.outcome == "forgotten"
    assert forgotten.memory == (await rows.read(cursor.connection, cursor.scope, cursor.author, memory_id)).memory


async def test_forgetting_again_changes_nothing(cursor: Client) -> None:
    memory_id = await cursor.saved("Port 8080")
    first = await cursor.forget(memory_id)
    second = await cursor.forget(memory_id)

    assert (second.outcome, second.memory) == ("already_forgotten", first.memory)
    assert len((await cursor.history(memory_id)).events) == 2


async def test_what_is_superseded_cannot_be_forgotten(cursor: Client) -> None:
    memory_id = await cursor.saved("Port 8080")
    await cursor.remember("Port 9090", supersedes=(memory_id,))

    assert (await cursor.forget(memory_id)).outcome == "not_active"


async def test_an_expired_memory_may_be_forgotten(cursor: Client) -> None:
    memory_id = await cursor.saved("The freeze is on", ttl_days=MICROSECOND)

    assert (await cursor.forget(memory_id)).outcome == "forgotten"


async def test_what_is_restored_is_a_new_revision_with_the_last_words(cursor: Client, claude: Client) -> None:
    memory_id = await cursor.saved("Port 8080")
    await cursor.revise(memory_id, 1, "Port 9090", tags=("net",))
    await cursor.forget(memory_id)
    restored = await claude.restore(memory_id, reason="right after all")

    assert (restored.outcome, restored.memory.revision, restored.memory.status) == ("restored", 3, Status.ACTIVE)
    assert await cursor.live() == {memory_id: 3}
    _first, second, third = (await cursor.history(memory_id)).revisions
    assert (third.origin, third.content, third.tags) == ("restore", "Port 9090", ("net",))
    assert (third.author_client, third.reason, third.author_kind) == ("claude", "right after all", AuthorKind.AGENT)
    assert second.valid_to is not None
    assert second.valid_to < third.valid_from


async def test_a_restored_memory_owes_its_vectors_anew(cursor: Client, model: int) -> None:
    memory_id = await cursor.saved("Port 8080")
    await cursor.forget(memory_id)
    await cursor.restore(memory_id)

    work = await cursor.connection.fetch("SELECT revision_no, model_id FROM memhub.embedding_work ORDER BY revision_no")
    assert [tuple(row) for row in work] == [(1, model), (2, model)]
    assert await cursor.count("public.procrastinate_jobs") == 2


async def test_what_is_active_is_not_restored(cursor: Client) -> None:
    memory_id = await cursor.saved("Port 8080")

    assert (await cursor.restore(memory_id)).outcome == "already_active"
    assert await cursor.live() == {memory_id: 1}


async def test_what_a_client_superseded_never_comes_back(cursor: Client) -> None:
    # Fails without the look at retired_by in forget._restore; memories_guard then refuses what is left.
    memory_id = await cursor.saved("Port 8080")
    successor = await cursor.saved("Port 9090", supersedes=(memory_id,))
    refused = await cursor.restore(memory_id)

    assert (refused.outcome, refused.memory.superseded_by) == ("not_active", successor)
    assert await cursor.live() == {successor: 1}


async def test_what_a_judge_superseded_comes_back(cursor: Client) -> None:
    memory_id, successor = await cursor.saved("Port 8080"), await cursor.saved("Port 9090")
    await _judged(cursor, memory_id, successor)
    assert await cursor.live() == {successor: 1}
    restored = await cursor.restore(memory_id)

    assert (restored.outcome, restored.memory.superseded_by) == ("restored", None)
    assert await cursor.live() == {memory_id: 2, successor: 1}


async def test_a_live_twin_stands_in_the_way_of_a_restore(cursor: Client) -> None:
    memory_id = await cursor.saved("Port 8080")
    await cursor.forget(memory_id)
    twin = await cursor.saved("Port 8080")
    refused = await cursor.restore(memory_id)

    assert (refused.outcome, refused.memory.memory_id) == ("duplicate", twin)
    assert await cursor.live() == {twin: 1}


async def test_an_expired_twin_gives_way_to_a_restore(cursor: Client) -> None:
    # Fails without `_EXPIRE` in locks.standing, which is called in forget._restore.
    memory_id = await cursor.saved("Port 8080")
    await cursor.forget(memory_id)
    await cursor.saved("Port 8080", ttl_days=MICROSECOND)

    assert (await cursor.restore(memory_id)).outcome == "restored"
    assert await cursor.live() == {memory_id: 2}


async def test_a_restored_conversation_gives_way_to_the_project_but_not_the_reverse(cursor: Client) -> None:
    talk = cursor.speaking(conversation="talk-1")
    private = await talk.saved("Port 8080", scope=Scope.CONVERSATION)
    await talk.forget(private)
    shared = await cursor.saved("Port 8080")
    refused = await talk.restore(private)
    await cursor.forget(shared)
    await talk.restore(private)

    assert (refused.outcome, refused.memory.memory_id) == ("duplicate", shared)
    assert (await cursor.restore(shared)).outcome == "restored"


async def test_what_has_expired_is_not_restored(cursor: Client) -> None:
    # Fails without `expires_at` in `back` of the statement restore: it could be found by nobody.
    memory_id = await cursor.saved("Ship it", type=MemoryType.TASK, ttl_days=MICROSECOND)
    await cursor.forget(memory_id)
    refused = await cursor.restore(memory_id)

    assert (refused.outcome, refused.memory.expired, refused.memory.revision) == ("not_active", True, 1)
    assert (await cursor.remember("Ship it")).outcome == "created"


async def test_what_was_purged_is_not_restored(cursor: Client, connection: asyncpg.Connection) -> None:
    memory_id = await cursor.saved("A secret")
    await cursor.forget(memory_id)
    await connection.execute(
        "SET ROLE memhub_operator; UPDATE memhub.memory_revisions SET content = NULL, content_hash = NULL,"
        " document = NULL, purged_at = clock_timestamp(); RESET ROLE"
    )

    assert (await cursor.restore(memory_id)).outcome == "not_active"


async def test_a_memory_that_the_caller_does_not_see_is_not_found(cursor: Client) -> None:
    elsewhere = await (await client_of(cursor.connection, "billing")).saved("Elsewhere")
    private = await cursor.speaking(conversation="talk-1").saved("Private", scope=Scope.CONVERSATION)
    stranger = cursor.speaking(conversation="talk-2")

    for unseen in (uuid4(), elsewhere, private):
        for act in (cursor.forget, cursor.restore, stranger.forget, stranger.restore):
            with pytest.raises(MemoryNotFound):
                await act(unseen)
    assert set(await cursor.live()) == {private}


async def test_a_conversation_forgets_and_restores_its_own(cursor: Client) -> None:
    talk = cursor.speaking(conversation="talk-1")
    private = await talk.saved("Private", scope=Scope.CONVERSATION)

    assert (await talk.forget(private)).outcome == "forgotten"
    assert (await talk.restore(private)).outcome == "restored"
