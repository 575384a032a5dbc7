"""The projects of a tenant with what they hold, and the tenants that there are."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import asyncpg

from shared import statements
from shared.overview.views import View

PROJECTS_MAX = 200
TENANTS_MAX = 500

_SQL = statements.load("overview")
_TENANTS = _SQL["tenants"]
_SLUGS = _SQL["slugs"]
_PROJECTS = _SQL["projects"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """Counts of the project's own memories, not of its conversations'; `embedded` of the `searchable` have vectors."""

    id: UUID
    tenant: str
    slug: str
    display_name: str | None
    created_at: datetime
    aliases: tuple[str, ...]
    superseded: int
    forgotten: int
    searchable: int
    embedded: int
    remembered_at: datetime | None

    @property
    def coverage(self) -> float:
        """Share of the searchable; 1 where there is nothing."""
        return self.embedded / self.searchable if self.searchable else 1.0


async def tenants(connection: asyncpg.Connection) -> list[str]:
    return [row["tenant"] for row in await connection.fetch(_TENANTS, TENANTS_MAX)]


async def slugs(connection: asyncpg.Connection, view: View) -> list[str]:
    """At most PROJECTS_MAX, the one that was written to last first."""
    rows = await connection.fetch(_SLUGS, view.tenant, view.project_id, PROJECTS_MAX)
    return [row["slug"] for row in rows]


async def projects(connection: asyncpg.Connection, view: View) -> tuple[Project, ...]:
    """At most PROJECTS_MAX, the one that was written to last first."""
    rows = await connection.fetch(_PROJECTS, view.tenant, view.project_id, PROJECTS_MAX)
    return tuple(Project(**dict(row) | {"aliases": tuple(row["aliases"])}) for row in rows)
