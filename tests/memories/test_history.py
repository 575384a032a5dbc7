from __future__ import annotations

from uuid import uuid4

import asyncpg
import pytest

from shared.domain import MemoryType, Scope, Status
from shared.errors import MemoryNotFound
from shared.memories.history import CONTENT_BYTES_MAX
from tests.memories.clients import Client, client_of

ODD_EVENT = """
INSERT INTO memhub.audit_events (tenant, project_id, memory_id, revision_no, event, client, details, created_at)
SELECT tenant, project_id, memory.id, 1, 'attested', 'c', $2::text::jsonb, clock_timestamp()
FROM memhub.memories AS memory JOIN memhub.projects AS project ON project.id = project_id WHERE memory.id = $1
"""


async def test_a_history_tells_the_whole_life_of_a_retired_memory(cursor: Client, claude: Client) -> None:
    older = await cursor.saved("Port 80")
    memory_id = await cursor.saved("Port 8080", supersedes=(older,))
    await claude.remember("Port 8080", type=MemoryType.DECISION)
    await claude.revise(memory_id, 1, "Port 9090", reason="taken")
    await cursor.forget(memory_id)
    await cursor.restore(memory_id)
    successor = await claude.saved("No port", supersedes=(memory_id,))
    life = await cursor.history(memory_id)

    assert (life.status, life.superseded_by, life.supersedes) == (Status.SUPERSEDED, successor, (older,))
    assert [(each.revision, each.origin, each.content) for each in life.revisions] == [
        (1, "remember", "Port 8080"),
        (2, "revise", "Port 9090"),
        (3, "restore", "Port 9090"),
    ]
    assert [(each.author_client, each.type) for each in life.attestations] == [
        ("cursor", MemoryType.FACT),
        ("claude", MemoryType.DECISION),
    ]
    assert [(each.event, each.revision, each.client) for each in life.events] == [
        ("remembered", 1, "cursor"),
        ("attested", 1, "claude"),
        ("revised", 2, "claude"),
        ("forgotten", 2, "cursor"),
        ("restored", 3, "cursor"),
        ("superseded", 3, "claude"),
    ]
    assert life.events[0].details == {"supersedes": [str(older)]}
    assert life.events[-1].details == {"superseded_by": str(successor)}


async def test_a_history_names_no_memory_of_another_conversation(cursor: Client) -> None:
    talk = cursor.speaking(conversation="talk-1")
    private = await talk.saved("Private", scope=Scope.CONVERSATION)
    shared = await talk.saved("Shared")
    successor = await talk.saved("Port 8080", supersedes=(private, shared))
    alone = await talk.saved("Alone", scope=Scope.CONVERSATION)
    await talk.remember("Port 8080", supersedes=(alone,))

    inside = (await talk.history(successor)).events
    assert [each.details for each in inside] == [
        {"supersedes": [str(private), str(shared)]},
        {"supersedes": [str(alone)]},
    ]
    for elsewhere in (None, "talk-2"):
        life = await cursor.speaking(conversation=elsewhere).history(successor)
        assert life.supersedes == (shared,)
        assert [each.details for each in life.events] == [{"supersedes": [str(shared)]}, {}]


async def test_a_history_survives_details_that_no_server_wrote(cursor: Client, connection: asyncpg.Connection) -> None:
    # Fails without one of the three CASEs in audit_events of memories.sql. The schema holds such rows no more.
    memory_id = await cursor.saved("Port 8080")
    await connection.execute("ALTER DOMAIN memhub.event_details DROP CONSTRAINT event_details_check")
    for details in ('"told"', "[1]", "null", '{"supersedes": "a"}', '{"supersedes": ["a", 1, {}]}'):
        await connection.execute(ODD_EVENT, memory_id, details)

    told = [event.details for event in (await cursor.history(memory_id)).events]
    assert told == [{}, {"details": "told"}, {"details": [1]}, {"details": None}, {}, {}]


async def test_a_history_is_seen_where_its_memory_is_seen(cursor: Client) -> None:
    talk = cursor.speaking(conversation="talk-1")
    private = await talk.saved("Private", scope=Scope.CONVERSATION)
    elsewhere = await (await client_of(cursor.connection, "billing")).saved("Elsewhere")

    assert (await talk.history(private)).scope is Scope.CONVERSATION
    for unseen in (private, elsewhere, uuid4()):
        with pytest.raises(MemoryNotFound):
            await cursor.speaking(conversation="talk-2").history(unseen)


async def test_a_long_history_is_told_in_answers_of_bounded_size(cursor: Client) -> None:
    # Fails without bytes_of_newer in memories.sql: 500 revisions of 31 kB were one answer of 29 MB.
    memory_id = await cursor.saved("Revision 1")
    for revision in range(2, 41):
        await cursor.revise(memory_id, revision - 1, f"Revision {revision} " + "long " * 6_000)
    newest = await cursor.history(memory_id)

    assert sum(len(each.content or "") for each in newest.revisions) < CONTENT_BYTES_MAX + 32_000
    assert newest.revisions[-1].revision == 40
    told = list(newest.revisions)
    assert newest.earlier_revisions == told[0].revision - 1 > 0
    while told[0].revision > 1:
        told[:0] = (await cursor.history(memory_id, before_revision=told[0].revision)).revisions
    assert [each.revision for each in told] == list(range(1, 41))
    assert (await cursor.history(memory_id, before_revision=2)).earlier_revisions is None
