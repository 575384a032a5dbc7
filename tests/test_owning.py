from uuid import uuid4

import asyncpg
import pytest

from shared import projects
from shared.domain import Author, Scope
from shared.errors import MemoryNotFound
from shared.memories.remember import remember
from shared.memories.requests import Remember

AUTHOR = Author(client="test")


async def test_a_memory_leads_to_its_project_in_its_own_tenant_only(server_connection: asyncpg.Connection) -> None:
    scopes = [
        (await projects.use(server_connection, "acme", AUTHOR, project=slug, aliases={}, create=True)).project
        for slug in ("first", "second")
    ]
    for scope in scopes:
        remembered = await remember(server_connection, scope, AUTHOR, Remember(content="The same words."))
        assert remembered.memory is not None
        memory_id = remembered.memory.memory_id
        assert await projects.owning(server_connection, "acme", memory_id, conversation=None) == scope
        with pytest.raises(MemoryNotFound):
            await projects.owning(server_connection, "other", memory_id, conversation=None)


async def test_a_memory_of_another_conversation_is_told_of_as_one_that_is_nowhere(
    server_connection: asyncpg.Connection,
) -> None:
    # Fails without the conversation in `owning` of projects.sql: the refusal named the project.
    used = await projects.use(server_connection, "acme", AUTHOR, project="app", aliases={}, create=True)
    here = Author(client="test", conversation="here")
    hidden = await remember(server_connection, used.project, here, Remember(content="Here.", scope=Scope.CONVERSATION))
    assert hidden.memory is not None
    told = set()
    for memory_id in (hidden.memory.memory_id, uuid4()):
        with pytest.raises(MemoryNotFound) as refused:
            await projects.owning(server_connection, "acme", memory_id, conversation="elsewhere")
        told.add(refused.value.line.replace(str(memory_id), ""))

    assert len(told) == 1
    owner = await projects.owning(server_connection, "acme", hidden.memory.memory_id, conversation="here")
    assert owner == used.project
