"""`memhub project`: the projects of a tenant, and what leads to them."""

from __future__ import annotations

import sys
from pathlib import Path

import orjson
from rich.table import Table

from ops.looking import looking
from ops.operating import CLIENT, operating
from ops.terminal import Terminal
from ops.texts import shown
from shared import limits, projects
from shared.domain import AliasKind
from shared.errors import ProjectNotFound
from shared.settings import Settings

AGAIN = "See `memhub project list` for what was done."


async def listing(settings: Settings, tenant: str | None, *, as_json: bool) -> int:
    """Prints the tenant's projects by slug."""
    wanted = settings.tenant if tenant is None else limits.tenant(tenant, "tenant")
    async with looking(settings) as connection:
        found = await projects.listed(connection, wanted)
    if as_json:
        told = [
            {"id": str(one.project.project_id), "slug": one.project.slug, "aliases": list(one.aliases)} for one in found
        ]
        print(orjson.dumps(told).decode())
        return 0
    table = Table("project", "id", "known by", box=None, header_style="", title=f"Projects of {wanted}")
    for one in found:
        table.add_row(one.project.slug, str(one.project.project_id), "\n".join(one.aliases) or "its name alone")
    Terminal(width=None if sys.stdout.isatty() else 200).print(table)
    return 0


async def untie(settings: Settings, place: str, tenant: str | None) -> int:
    """Takes a folder or a repository off its project. Raises InvalidArgument, ProjectNotFound for an unknown one."""
    wanted = settings.tenant if tenant is None else limits.tenant(tenant, "tenant")
    aliases = _aliases(place)
    async with operating(settings, again=AGAIN) as connection:
        slugs = await projects.untie(connection, wanted, CLIENT, aliases)
    named = next(iter(aliases.values()))
    if not slugs:
        raise ProjectNotFound(
            f"PLACE: no project of tenant {wanted} is known by {named}.",
            next="`memhub project list` shows what each is known by.",
        )
    print(f"{shown(named)} leads to {' and '.join(slugs)} no more; what is remembered there stays.")
    return 0


def _aliases(place: str) -> dict[AliasKind, str]:
    """A repository without a remote is known by its folder, as one and as the other."""
    if not place.startswith(("/", ".", "~")) and not Path(place).is_dir():
        return {"git_remote": limits.canonical_git_remote(place)}
    # As it is listed; a server knows the folder that it runs in without links.
    folder = limits.canonical_workspace_path(
        place if place.startswith("/") else str(Path(place).expanduser().resolve())
    )
    return {"workspace_path": folder, "git_remote": folder}
