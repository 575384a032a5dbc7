"""The projects of a credential that is bound to one of them: the others are not there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from server.backend import Projects
from shared.domain import Aliases, Author, ProjectScope, Used
from shared.errors import Forbidden, MemoryNotFound, ProjectNotFound

if TYPE_CHECKING:
    from asyncpg import Connection

    from shared.projects import Listed


class BoundProjects:
    """No answer and no refusal names another project of the tenant, nor an alias that leads to one."""

    def __init__(self, projects: Projects, project_id: UUID) -> None:
        self._projects = projects
        self._project_id = project_id

    async def use(
        self,
        connection: Connection,
        tenant: str,
        author: Author,
        *,
        project: UUID | str | None,
        aliases: Aliases,
        create: bool,
        display_name: str | None,
    ) -> Used:
        if create:
            raise Forbidden(
                "This credential is bound to one project and makes no other.",
                next="Call project_use without create, or use a credential that is not bound.",
            )
        return Used("resolved", await self.resolve(connection, tenant, project or self._project_id))

    async def resolve(self, connection: Connection, tenant: str, project: UUID | str) -> ProjectScope:
        own = await self._projects.resolve(connection, tenant, self._project_id)
        if project not in (own.project_id, own.slug):
            raise ProjectNotFound(
                f"project: there is no project {project}. Projects: {own.slug}.", next="Leave project out."
            )
        return own

    async def resolve_alias(self, connection: Connection, tenant: str, _aliases: Aliases) -> ProjectScope:
        return await self.resolve(connection, tenant, self._project_id)

    async def default(self, connection: Connection, tenant: str) -> ProjectScope:
        return await self.resolve(connection, tenant, self._project_id)

    async def ensure_default(self, connection: Connection, tenant: str, _author: Author) -> ProjectScope:
        return await self.resolve(connection, tenant, self._project_id)

    async def listed(self, connection: Connection, tenant: str) -> Sequence[Listed]:
        listed = await self._projects.listed(connection, tenant)
        return [project for project in listed if project.project.project_id == self._project_id]

    async def owning(
        self, connection: Connection, tenant: str, memory_id: UUID, *, conversation: str | None
    ) -> ProjectScope:
        scope = await self._projects.owning(connection, tenant, memory_id, conversation=conversation)
        if scope.project_id != self._project_id:
            raise MemoryNotFound.anywhere(memory_id)
        return scope
