"""One tool call on its way down: who calls, on which backend, and how it may touch the database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio

from server.backend import Backend, ProjectHint
from shared.domain import Author, ProjectScope
from shared.errors import UnknownOutcome

WRITE_S_MAX = 60.0
"""Above every timeout of the database, so that it only ends a write whose connection hangs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    tenant: str
    author: Author
    project: str | None
    hint: ProjectHint


@dataclass(slots=True, kw_only=True)
class Call:
    backend: Backend
    caller: Caller
    project: str | None = field(default=None, init=False)
    """The slug that the call resolved to, for its log line."""

    async def scope(self, connection: Any, project: str | None) -> ProjectScope:
        scope = await self.backend.projects.resolve(
            connection,
            tenant=self.caller.tenant,
            project=project or self.caller.project,
            hint=self.caller.hint,
        )
        self.project = scope.slug
        return scope

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Any]:
        async with self.backend.connection() as connection:
            yield connection

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[Any]:
        """A transaction that a cancelled request, a closed session or an ending server does not tear."""
        with anyio.move_on_after(WRITE_S_MAX, shield=True) as deadline:
            async with self.backend.transaction() as connection:
                yield connection
        if deadline.cancelled_caught:
            raise UnknownOutcome(
                f"The write did not end within {WRITE_S_MAX:.0f} s; whether it took place is not known.",
                next="Repeat it with the same client_request_id, or re-read before you write again.",
            )
