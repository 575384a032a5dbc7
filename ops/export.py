"""`memhub export`: the whole history as JSON Lines, to a file or to standard output."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import asyncpg
import orjson

from ops import bars, words
from ops.files import require_free, written
from ops.moving import exporting
from ops.operating import CLIENT, operating
from ops.shell_projects import at_shell
from ops.terminal import Terminal
from shared import limits, projects, statements
from shared.domain import ProjectScope
from shared.errors import ProjectAmbiguous, ProjectNotFound
from shared.settings import Settings

TENANTS_NAMED_MAX = 20

_SQL = statements.load("operating")
_TELL = _SQL["tell"]
_TENANTS_WITH = _SQL["tenants_with"]
_TENANTS = _SQL["tenants"]

AGAIN = "Run it again: nothing was left under the name of the file."


async def export(
    settings: Settings, *, project: str | None, tenant: str | None, output: Path | None, force: bool = False
) -> int:
    """Writes the export whole or not at all; 0, or an error that says why."""
    named = limits.project(project, "--project")
    if tenant is not None:
        limits.tenant(tenant, "--tenant")
    if output is not None:
        require_free(output, force=force)
    async with operating(settings, again=AGAIN) as connection:
        if tenant is not None:
            await _require_tenant(connection, tenant)
        with at_shell():
            scope = None if named is None else await _project(connection, settings, tenant, named)
        # Before it: what leaves is told of also when the export is cut short.
        asked = orjson.dumps({"tenant": tenant, "project": project}).decode()
        told_of = scope.tenant if scope else tenant or settings.tenant
        await connection.execute(_TELL, told_of, "exported", CLIENT, asked)
        project_id = scope.project_id if scope else None
        total = await exporting.count(connection, tenant=tenant, project_id=project_id)
        memories = 0
        with written(output) as file, bars.counting("exporting", total, "memories") as advance:
            async for kind, line in exporting.export(connection, tenant=tenant, project_id=project_id):
                file.write(line)
                memories += kind == "memory"
                advance(memories)
    Terminal(stderr=True).print(
        f"Exported {words.memories(memories)}{f' to {output}' if output else ''}.", soft_wrap=True
    )
    return 0


async def _require_tenant(connection: asyncpg.Connection, tenant: str) -> None:
    """Raises ProjectNotFound for one that has no project, where others have: its name is misspelt."""
    tenants = [row["tenant"] for row in await connection.fetch(_TENANTS, tenant, TENANTS_NAMED_MAX)]
    if tenants and tenant not in tenants:
        raise ProjectNotFound(f"--tenant: {tenant} has no project.", next=f"Name one that has: {', '.join(tenants)}.")


async def _project(
    connection: asyncpg.Connection, settings: Settings, tenant: str | None, named: UUID | str
) -> ProjectScope:
    """The project of that tenant, or of the one tenant that has it. Raises ProjectAmbiguous, ProjectNotFound."""
    if tenant is not None:
        return await projects.resolve(connection, tenant, named)
    tenants = [row["tenant"] for row in await connection.fetch(_TENANTS_WITH, str(named), TENANTS_NAMED_MAX)]
    if len(tenants) > 1:
        raise ProjectAmbiguous(
            f"--project: more than one tenant has a project {named}: {', '.join(tenants)}.",
            next="Say whose with --tenant.",
        )
    return await projects.resolve(connection, tenants[0] if tenants else settings.tenant, named)
