"""One tool call on its way down: who calls, on which backend, and how it may touch the database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import anyio
import anyio.to_thread

from server.backend import Aliases, Backend
from shared import screening
from shared.domain import Author, ProjectScope
from shared.errors import SensitiveContent, UnknownOutcome

WRITE_S_MAX = 60.0
"""Above every timeout of the database, so that it only ends a write whose connection hangs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """`project` and `aliases` stand in where a call names no project."""

    tenant: str
    author: Author
    project: UUID | str | None
    aliases: Aliases


@dataclass(slots=True, kw_only=True)
class Call:
    backend: Backend
    caller: Caller
    project: str | None = field(default=None, init=False)
    """The slug that the call resolved to, for its log line."""

    async def scope(self, connection: Any, named: UUID | str | None) -> ProjectScope:
        tenant, projects = self.caller.tenant, self.backend.projects
        project = named or self.caller.project
        if project is None:
            scope = await projects.resolve_alias(connection, tenant, self.caller.aliases)
        else:
            scope = await projects.resolve(connection, tenant, project)
        self.project = scope.slug
        return scope

    async def screened(
        self, texts: Mapping[str, str | None], *, acknowledged: bool = False, otherwise: str
    ) -> str | None:
        """The detector that the caller overrides, None where nothing looks like a credential.

        Raises SensitiveContent naming the argument; its `next` ends with what to do `otherwise`: if it is none.
        """
        overridden = None
        for argument, text in texts.items():
            # On a thread: 32,000 bytes take 24 ms, and the first call imports the detectors.
            finding = await anyio.to_thread.run_sync(screening.screen, text) if text else None
            if finding is None:
                continue
            if not acknowledged:
                seen = f"line {finding.line} looks like a credential ({finding.detector})"
                raise SensitiveContent(
                    finding.detector,
                    f"{argument}: {seen}; nothing was stored.",
                    next=f"Store where it is kept instead. {otherwise}",
                )
            overridden = finding.detector
        return overridden

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Any]:
        async with self.backend.connection("read") as connection:
            yield connection

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[Any]:
        """A connection whose use a cancelled request, a closed session or an ending server does not tear."""
        with anyio.move_on_after(WRITE_S_MAX, shield=True) as deadline:
            async with self.backend.connection("write") as connection:
                yield connection
        if deadline.cancelled_caught:
            raise UnknownOutcome(
                f"The write did not end within {WRITE_S_MAX:.0f} s; whether it took place is not known.",
                next="Repeat it with the same client_request_id, or re-read before you write again.",
            )
