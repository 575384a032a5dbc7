"""Clients as the services see them: a connection, a project that was resolved, and a name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import asyncpg

from shared import projects
from shared.domain import Author, ProjectScope
from shared.memories import forget, history, remember, revise
from shared.memories.forget import Forgotten
from shared.memories.history import History
from shared.memories.remember import Remembered
from shared.memories.requests import Remember, Revise
from shared.memories.revise import Revised

TENANT = "acme"


@dataclass(frozen=True, slots=True)
class Client:
    connection: asyncpg.Connection
    scope: ProjectScope
    author: Author

    async def remember(self, content: str, **said: Any) -> Remembered:
        return await remember.remember(self.connection, self.scope, self.author, Remember(content=content, **said))

    async def saved(self, content: str, **said: Any) -> UUID:
        """The id of a new memory."""
        created = await self.remember(content, **said)
        assert created.outcome == "created"
        assert created.memory is not None
        return created.memory.memory_id

    async def revise(self, memory_id: UUID, expected: int, content: str, **said: Any) -> Revised:
        request = Revise(memory_id=memory_id, expected_revision=expected, content=content, **said)
        return await revise.revise(self.connection, self.scope, self.author, request)

    async def forget(self, memory_id: UUID, **said: Any) -> Forgotten:
        return await forget.forget(self.connection, self.scope, self.author, memory_id, **said)

    async def restore(self, memory_id: UUID, **said: Any) -> Forgotten:
        return await forget.restore(self.connection, self.scope, self.author, memory_id, **said)

    async def history(self, memory_id: UUID, *, before_revision: int | None = None) -> History:
        return await history.history(
            self.connection, self.scope, self.author, memory_id, before_revision=before_revision
        )

    def speaking(self, client: str | None = None, *, conversation: str | None = None) -> Client:
        """The same connection and project, spoken by another."""
        author = Author(client or self.author.client, conversation, self.author.request_id)
        return Client(self.connection, self.scope, author)

    async def live(self) -> dict[UUID, int]:
        """The revision of each memory of the project that stands in the search tables."""
        rows = await self.connection.fetch(
            "SELECT memory_id, revision_no FROM memhub.live_memories WHERE project_id = $1", self.scope.project_id
        )
        return {row["memory_id"]: row["revision_no"] for row in rows}

    async def count(self, table: str) -> int:
        rows: int = await self.connection.fetchval(f"SELECT count(*) FROM {table}")
        return rows


async def client_of(connection: asyncpg.Connection, project: str, *, client: str = "cursor") -> Client:
    author = Author(client, request_id="request-1")
    used = await projects.use(connection, TENANT, author, project=project, aliases={}, create=True)
    return Client(connection, used.project, author)
