"""`memhub project`: the projects of a tenant, and what leads to them."""

from __future__ import annotations

import shlex
import sys
from contextlib import suppress
from pathlib import Path

import asyncpg
import orjson
from rich.table import Table

from ops.looking import looking
from ops.operating import CLIENT, operating
from ops.terminal import Terminal
from ops.texts import shown
from shared import limits, projects, workspace
from shared.domain import DEFAULT_SLUG, AliasKind
from shared.errors import InvalidArgument, ProjectNotFound, ProjectRequired
from shared.screening import refuse_secrets
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


async def rename(
    settings: Settings, project: str, *, slug: str | None, display_name: str | None, tenant: str | None
) -> int:
    """Gives a project another name. Raises InvalidArgument for a taken one, ProjectNotFound, SensitiveContent."""
    wanted = settings.tenant if tenant is None else limits.tenant(tenant, "tenant")
    named = limits.project(project, "SLUG")
    new = None if slug is None else limits.slug(slug, "NEW-SLUG")
    shown_as = limits.display_name(display_name)
    if shown_as is not None:
        refuse_secrets(shown_as, argument="display_name")
    assert named is not None
    async with operating(settings, again=AGAIN) as connection:
        try:
            scope = await projects.resolve(connection, wanted, named)
        except ProjectNotFound as unknown:
            told = unknown.message.removeprefix("project: ")
            raise ProjectNotFound(f"SLUG: {told}", next=f"`memhub project list` shows those of {wanted}.") from None
        renamed = await projects.rename(connection, scope, CLIENT, slug=new, display_name=shown_as)
    if renamed is None:
        print(f"{scope.slug} is named so already.")
        return 0
    shown_name = "" if renamed.display_name is None else f" ({shown(renamed.display_name)})"
    print(
        f"{scope.slug} is {renamed.slug}{shown_name} now; its id, folders, repositories and tokens lead to it as ever."
    )
    if renamed.slug != scope.slug:
        _tell_of_the_old_name(scope.slug, renamed.slug)
    return 0


def _tell_of_the_old_name(old: str, new: str) -> None:
    print(
        f"What names {old} is refused from now on and told of {new}: MEMHUB_PROJECT in a client's or server's settings,"
        f" X-Memory-Project in a client's headers. Connect such a client again: memhub connect CLIENT --memory-project"
        f" {new}, with what it was given before; it then starts its server anew."
    )
    if old == DEFAULT_SLUG:
        print(f"Calls over HTTP that name no project make a new {DEFAULT_SLUG} with their next write.")


async def untie(settings: Settings, place: str, tenant: str | None) -> int:
    """Takes a folder or a repository off its project. Raises InvalidArgument, ProjectNotFound for an unknown one."""
    wanted = settings.tenant if tenant is None else limits.tenant(tenant, "tenant")
    aliases = _aliases(place)
    named = next(iter(aliases.values()))
    async with operating(settings, again=AGAIN) as connection:
        slugs = await projects.untie(connection, wanted, CLIENT, aliases)
        still = await _still(connection, wanted, Path(named)) if "workspace_path" in aliases else None
    if not slugs:
        raise ProjectNotFound(
            f"PLACE: no project of tenant {wanted} is known by {named}.",
            next=still or "`memhub project list` shows what each is known by.",
        )
    print(f"{shown(named)} leads to {' and '.join(slugs)} no more; what is remembered there stays.")
    if still is not None:
        print(still)
    return 0


async def _still(connection: asyncpg.Connection, tenant: str, folder: Path) -> str | None:
    """By what the folder leads to a project all the same: its repository, which other folders share."""
    remote = None
    # A folder that this user may not enter was untied all the same.
    with suppress(OSError):
        remote = workspace.aliases(folder).get("git_remote")
    if remote is None:
        return None
    try:
        project = await projects.resolve_alias(connection, tenant, {"git_remote": remote})
    except ProjectRequired:
        return None
    undo = f"`memhub project untie {shlex.quote(shown(remote))}`"
    return f"Its repository {shown(remote)} leads to {project.slug}, from every clone: {undo} ends that."


def _resolved(place: str) -> Path:
    try:
        return Path(place).expanduser().resolve()
    except RuntimeError:
        raise InvalidArgument("PLACE", "names the home of nobody", next="Write the whole path.") from None


def _aliases(place: str) -> dict[AliasKind, str]:
    """A repository without a remote is known by its folder, as one and as the other."""
    if not place.startswith(("/", ".", "~")) and not Path(place).is_dir():
        return {"git_remote": limits.canonical_git_remote(place)}
    # As it is listed; a server knows the folder that it runs in without links.
    folder = limits.canonical_workspace_path(place if place.startswith("/") else str(_resolved(place)))
    return {"workspace_path": folder, "git_remote": folder}
