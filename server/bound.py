"""The projects of a credential that is bound to one of them: the others are not there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from server.backend import Aliases, Listed, Projects, Used
from shared.domain import Author, ProjectScope
from shared.errors import Forbidden, MemoryNotFound, ProjectNotFound


@dataclass(frozen=True, slots=True)
class _Resolved:
    project: ProjectScope
    outcome: Literal["resolved", "created"] = "resolved"


class BoundProjects:
    """No answer and no refusal names another project of the tenant, nor an alias that leads to one."""

    def __init__(self, projects: Projects, project_id: UUID) -> None:
        self._projects = projects
        self._project_id = project_id

    async def use(
        self,
        connection: Any,
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
        return _Resolved(await self.resolve(connection, tenant, project or self._project_id))

    async def resolve(self, connection: Any, tenant: str, project: UUID | str) -> ProjectScope:
        own = await self._projects.resolve(connection, tenant, self._project_id)
        if project not in (own.project_id, own.slug):
            raise ProjectNotFound(
                f"project: there is no project {project}. Projects: {own.slug}.", next="Leave project out."
            )
        return own

    async def resolve_alias(self, connection: Any, tenant: str, _aliases: Aliases) -> ProjectScope:
        return await self.resolve(connection, tenant, self._project_id)

    async def default(self, connection: Any, tenant: str) -> ProjectScope:
        return await self.resolve(connection, tenant, self._project_id)

    async def ensure_default(self, connection: Any, tenant: str, _author: Author) -> ProjectScope:
        return await self.resolve(connection, tenant, self._project_id)

    async def listed(self, connection: Any, tenant: str) -> Sequence[Listed]:
        listed = await self._projects.listed(connection, tenant)
        return [project for project in listed if project.project.project_id == self._project_id]

    async def owning(self, connection: Any, tenant: str, memory_id: UUID) -> ProjectScope:
        scope = await self._projects.owning(connection, tenant, memory_id)
        if scope.project_id != self._project_id:
            raise MemoryNotFound(f"memory_id: there is no memory {memory_id}.", next="Take ids from memory_search.")
        return scope
