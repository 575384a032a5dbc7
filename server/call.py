"""One tool call on its way down: who calls, on which backend, and how it may touch the database."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import UUID

import anyio
import anyio.to_thread

from server.backend import Backend, Projects
from server.bound import BoundProjects
from server.record import Leg, Meter
from shared import screening
from shared.domain import Aliases, Author, ProjectScope
from shared.errors import Forbidden, ProjectAmbiguous, ProjectNotFound, ProjectRequired, UnknownOutcome

if TYPE_CHECKING:
    from asyncpg import Connection

WRITE_S_MAX = 60.0
"""Above every timeout of the database, so that it only ends a write whose connection hangs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """`project`, then `aliases` or the project `default` stand in where a call names no project.

    `project_from` is the setting or header that names `project`.
    """

    tenant: str
    author: Author
    project: UUID | str | None
    project_from: str = "MEMHUB_PROJECT"
    aliases: Aliases
    has_default: bool = False
    read_only: bool = False
    bound_to: UUID | None = None
    """The one project that the caller's credential opens."""
    credential: str | None = None
    """What is bounded for each caller is counted by it; None is not bounded."""


@dataclass(slots=True, kw_only=True)
class Call:
    backend: Backend
    caller: Caller
    meter: Meter
    project: str | None = field(default=None, init=False)
    """The slug that the call resolved to, for its log line."""

    _writes: bool = field(default=False, init=False)

    @property
    def projects(self) -> Projects:
        """The projects that this caller may see."""
        bound_to = self.caller.bound_to
        return self.backend.projects if bound_to is None else BoundProjects(self.backend.projects, bound_to)

    async def scope(self, connection: Connection, named: UUID | str | None) -> ProjectScope:
        """The project of the call; over HTTP the project `default` is made when a write names none."""
        with self.told_of_setting(names_it=named is not None):
            scope = await self._scope(connection, named or self.caller.project)
        self.project = scope.slug
        return scope

    @contextmanager
    def told_of_setting(self, *, names_it: bool) -> Iterator[None]:
        """Tells a project that is not there by the setting that names it, unless the call `names_it` itself."""
        try:
            yield
        except ProjectNotFound as missing:
            if names_it or self.caller.project is None:
                raise
            source = self.caller.project_from
            make = "" if self.caller.bound_to is not None else f"{missing.next} "
            raise ProjectNotFound(
                f"{source}: {missing.message.removeprefix('project: ')}",
                next=f"{make}The configuration of this client names it in {source}: tell the user, if it is not meant.",
            ) from None

    async def unnamed(self, connection: Connection) -> ProjectScope | None:
        """The project of calls that name none, None where they are refused; makes nothing."""
        caller = self.caller
        try:
            if caller.project is not None:
                return await self.projects.resolve(connection, caller.tenant, caller.project)
            if caller.has_default:
                return await self.projects.default(connection, caller.tenant)
            return await self.projects.resolve_alias(connection, caller.tenant, caller.aliases)
        except (ProjectNotFound, ProjectRequired, ProjectAmbiguous):
            return None

    async def _scope(self, connection: Connection, project: UUID | str | None) -> ProjectScope:
        caller, projects = self.caller, self.projects
        if project is not None:
            return await projects.resolve(connection, caller.tenant, project)
        if not caller.has_default:
            return await projects.resolve_alias(connection, caller.tenant, caller.aliases)
        if self._writes:
            return await projects.ensure_default(connection, caller.tenant, caller.author)
        return await projects.default(connection, caller.tenant)

    @contextmanager
    def timed(self, leg: Leg, *, asked: bool, before_s: float = 0) -> Iterator[None]:
        """Tells the meter how long a part of a search took, also one that fails; nothing where nothing was `asked`.

        `before_s` is what the same part took before.
        """
        began_s = time.perf_counter() - before_s
        try:
            yield
        finally:
            if asked:
                self.meter.searched(leg, seconds=time.perf_counter() - began_s)

    def refuse_read_only(self) -> None:
        if self.caller.read_only:
            raise Forbidden(
                "This credential may only read; nothing was written.",
                next="Use a credential that may write, or ask whoever made this one.",
            )

    async def screened(
        self, texts: Mapping[str, str | None], *, acknowledged: bool = False, otherwise: str
    ) -> str | None:
        """The detector that the caller overrides, None where nothing looks like a credential.

        Raises Forbidden for a caller that may only read, and SensitiveContent naming the argument; its `next` ends
        with what to do `otherwise`: if it is none.
        """
        self.refuse_read_only()
        overridden = None
        for argument, text in texts.items():
            # On a thread: 32,000 bytes take 24 ms, and the first call imports the detectors.
            finding = await anyio.to_thread.run_sync(screening.screen, text) if text else None
            if finding is None:
                continue
            if not acknowledged:
                raise screening.refusal(argument, finding, otherwise=otherwise)
            overridden = finding.detector
        return overridden

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Connection]:
        async with self.backend.connection("read") as connection:
            yield connection

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[Connection]:
        """A connection whose use a cancelled request, a closed session or an ending server does not tear.

        Raises Forbidden for a caller that may only read.
        """
        self.refuse_read_only()
        self._writes = True
        with anyio.move_on_after(WRITE_S_MAX, shield=True) as deadline:
            async with self.backend.connection("write") as connection:
                yield connection
        if deadline.cancelled_caught:
            raise UnknownOutcome(
                f"The write did not end within {WRITE_S_MAX:.0f} s; whether it took place is not known.",
                next="Repeat it with the same client_request_id, or re-read before you write again.",
            )
