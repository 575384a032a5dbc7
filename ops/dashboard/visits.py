"""One request to the dashboard: who visits, what they may see, and the way to the database."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import asyncpg
from starlette.requests import Request

from ops.dashboard.sessions import COOKIE, Failures, Session, Sessions
from shared import limits
from shared.domain import Author, ProjectScope
from shared.embedding.client import QueryEmbedder
from shared.errors import Forbidden, ProjectNotFound
from shared.mounts import Authenticate, Connections
from shared.overview.views import View
from shared.principal import Principal
from shared.projects import resolve
from shared.settings import Settings

CLIENT = "dashboard"

_BECOME_OPERATOR = "SET LOCAL ROLE memhub_operator"


@dataclass(frozen=True, slots=True)
class House:
    """What every page of one process shares."""

    database: Connections
    settings: Settings
    authenticate: Authenticate
    sessions: Sessions
    failures: Failures
    embedder: QueryEmbedder


@dataclass(frozen=True, slots=True)
class Visitor:
    principal: Principal
    session: Session
    tenant: str

    @property
    def is_operator(self) -> bool:
        """Bound to no tenant: sees the fleet, which belongs to none, and may choose among tenants."""
        return self.principal.tenant is None

    @property
    def is_anonymous(self) -> bool:
        return self.session.secret is None

    @property
    def may_write(self) -> bool:
        return not self.principal.read_only

    @property
    def view(self) -> View:
        return View(self.tenant, self.principal.project_id)


@dataclass(frozen=True, slots=True)
class Visit:
    house: House
    request: Request
    visitor: Visitor

    @property
    def settings(self) -> Settings:
        return self.house.settings

    @property
    def author(self) -> Author:
        """Whom the audit trail names."""
        who = self.visitor.principal.identity
        name = CLIENT if who is None else limits.client_name(f"{CLIENT} ({who})")
        return Author(name, request_id=secrets.token_hex(8))

    def reading(self) -> AbstractAsyncContextManager[Any]:
        return self.house.database.connection("read")

    def writing(self) -> AbstractAsyncContextManager[Any]:
        return self.house.database.connection("write")

    @asynccontextmanager
    async def operating(self) -> AsyncIterator[Any]:
        """A connection that acts as the operator in one transaction. Raises Forbidden where the login role may not."""
        async with self.writing() as connection, connection.transaction():
            try:
                await connection.execute(_BECOME_OPERATOR)
            except asyncpg.InsufficientPrivilegeError:
                raise Forbidden(
                    "The database role of this server may not act as memhub_operator, which this needs.",
                    next="Use `memhub token` with the role that owns the schema.",
                ) from None
            yield connection

    async def project(self, connection: Any, slug: str) -> ProjectScope:
        """Raises ProjectNotFound, also for a project that the visitor's credential is not bound to; InvalidArgument."""
        slug = limits.slug(slug)
        bound = self.visitor.principal.project_id
        scope = await resolve(connection, self.visitor.tenant, slug if bound is None else bound)
        if scope.slug != slug:
            raise ProjectNotFound(f"There is no project {slug} here.", next="Choose one of the list.")
        return scope

    def ask_to_write(self) -> None:
        if not self.visitor.may_write:
            raise Forbidden("This credential may only read.", next="Log in with one that may write.")


async def visitor_of(house: House, request: Request) -> Visitor | None:
    """None: a login is needed. A session whose credential lets in nobody any more ends here."""
    name = request.cookies.get(COOKIE)
    session = house.sessions.find(name)
    principal = None if session is None else await house.authenticate(session.secret)
    if principal is None:
        house.sessions.end(name)
        session = house.sessions.open
        principal = await house.authenticate(None)
    if principal is None or session is None:
        return None
    return Visitor(principal, session, tenant=principal.tenant or session.tenant or house.settings.tenant)
