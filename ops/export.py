"""`memhub export`: the whole history as JSON Lines, to a file or to standard output."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import asyncpg
import orjson
from rich.console import Console

from ops import bars
from ops.files import written
from ops.moving import exporting
from ops.operating import CLIENT, operating
from shared import limits, projects, statements
from shared.settings import Settings

_TELL = statements.load("operating")["tell"]

AGAIN = "Run it again: nothing was left under the name of the file."


async def export(settings: Settings, *, project: str | None, tenant: str | None, output: Path | None) -> int:
    """Writes the export whole or not at all; 0, or an error that says why."""
    async with operating(settings, again=AGAIN) as connection:
        project_id = await _project(connection, tenant or settings.tenant, project)
        # Before it: what leaves is told of also when the export is cut short.
        asked = orjson.dumps({"tenant": tenant, "project": project}).decode()
        await connection.execute(_TELL, tenant or settings.tenant, "exported", CLIENT, asked)
        total = await exporting.count(connection, tenant=tenant, project_id=project_id)
        memories = 0
        with written(output) as file, bars.counting("exporting", total, "memories") as advance:
            async for kind, line in exporting.export(connection, tenant=tenant, project_id=project_id):
                file.write(line)
                memories += kind == "memory"
                advance(memories)
    Console(stderr=True).print(
        f"Exported {memories:,} memories{f' to {output}' if output else ''}.", highlight=False, soft_wrap=True
    )
    return 0


async def _project(connection: asyncpg.Connection, tenant: str, project: str | None) -> UUID | None:
    named = limits.project(project, "--project")
    return None if named is None else (await projects.resolve(connection, tenant, named)).project_id
