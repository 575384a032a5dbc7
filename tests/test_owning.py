import asyncpg
import pytest

from shared import projects
from shared.domain import Author
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
        assert await projects.owning(server_connection, "acme", memory_id) == scope
        with pytest.raises(MemoryNotFound):
            await projects.owning(server_connection, "other", memory_id)
