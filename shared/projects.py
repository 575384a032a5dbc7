"""Projects: finding the one that a call means, and the only place that makes a ProjectScope."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal
from uuid import UUID, uuid4

import asyncpg

from shared import statements
from shared.domain import DEFAULT_SLUG, Aliases, Author, ProjectScope, Used
from shared.errors import InvalidArgument, MemoryNotFound, ProjectAmbiguous, ProjectNotFound, ProjectRequired

LISTED_MAX = 200
NAMED_IN_ERRORS_MAX = 20
ALIASES_READ_MAX = 100

_NOWHERE = UUID(int=0)

_SQL = statements.load("projects")
_BY_ID = _SQL["by_id"]
_BY_SLUG = _SQL["by_slug"]
_BY_ALIAS = _SQL["by_alias"]
_LIST = _SQL["list"]
_OWNING = _SQL["owning"]
_CREATE = _SQL["create"]
_RENAME = _SQL["rename"]
_RENAMED = _SQL["renamed"]
_ADD_ALIASES = _SQL["add_aliases"]
_ALIASES_OF = _SQL["aliases_of"]
_REMOVE_ALIASES = _SQL["remove_aliases"]


@dataclass(frozen=True, slots=True)
class Listed:
    """A project of the tenant with the aliases that lead to it, each as `kind:value`."""

    project: ProjectScope
    aliases: tuple[str, ...]


async def use(
    connection: asyncpg.Connection,
    tenant: str,
    author: Author,
    *,
    project: UUID | str | None,
    aliases: Aliases,
    create: bool = False,
    display_name: str | None = None,
) -> Used:
    """The project that these names lead to, made when `create` is given and none of them leads anywhere.

    Never another project than the one that `project` names: aliases only find one where it is left out. New aliases
    are linked when the project was named, or made. Commits. Raises ProjectAmbiguous when the names lead to two
    projects, or to one beside one that would be made, ProjectNotFound, ProjectRequired, InvalidArgument.
    """
    if project is None and not aliases:
        raise await _required(connection, tenant)
    async with connection.transaction():
        found = await _candidates(connection, tenant, project, aliases)
        if len(found) > 1:
            raise _ambiguous(found)
        scope = found[0] if found else None
        if project is not None and scope is not None and project not in (scope.slug, scope.project_id):
            raise _elsewhere(project, scope, create=create)
        outcome: Literal["resolved", "created"] = "resolved"
        if scope is None:
            if not create:
                raise await _not_found(connection, tenant, project)
            scope, outcome = await _create(connection, tenant, author, _slug(project, aliases), display_name)
            if outcome == "resolved" and project is None:
                raise _slug_taken(scope.slug)
        others = await _others(connection, scope, aliases) if aliases and outcome == "resolved" else ()
        if aliases and (create or project is not None):
            await _link(connection, author, scope, aliases)
    return Used(outcome=outcome, project=scope, others=others)


async def resolve(connection: asyncpg.Connection, tenant: str, project: UUID | str) -> ProjectScope:
    """The tenant's project with that id or slug. Raises ProjectNotFound, also for another tenant's."""
    found = await _named(connection, tenant, project)
    if found is None:
        raise await _not_found(connection, tenant, project)
    return found


async def resolve_alias(connection: asyncpg.Connection, tenant: str, aliases: Aliases) -> ProjectScope:
    """The one project that these aliases lead to. Raises ProjectAmbiguous, ProjectRequired listing what exists."""
    found = await _candidates(connection, tenant, None, aliases)
    if len(found) > 1:
        raise _ambiguous(found)
    if not found:
        raise await _required(connection, tenant, aliases)
    return found[0]


async def owning(
    connection: asyncpg.Connection, tenant: str, memory_id: UUID, *, conversation: str | None
) -> ProjectScope:
    """The tenant's project that holds this memory.

    Raises MemoryNotFound, also for a memory of another tenant or conversation: not even where it is may be told.
    """
    row = await connection.fetchrow(_OWNING, tenant, memory_id, conversation)
    if row is None:
        raise MemoryNotFound.anywhere(memory_id)
    return _scope(row)


async def default(connection: asyncpg.Connection, tenant: str) -> ProjectScope:
    """The tenant's project `default`; before its first write a scope that holds nothing and that nothing can enter."""
    found = await _named(connection, tenant, DEFAULT_SLUG)
    return found or ProjectScope(tenant=tenant, project_id=_NOWHERE, slug=DEFAULT_SLUG, display_name=None)


async def ensure_default(connection: asyncpg.Connection, tenant: str, author: Author) -> ProjectScope:
    """The tenant's project `default`, made when it is not there yet; commits."""
    found = await _named(connection, tenant, DEFAULT_SLUG)
    if found is None:
        found, _outcome = await _create(connection, tenant, author, DEFAULT_SLUG, None)
    return found


async def listed(connection: asyncpg.Connection, tenant: str) -> list[Listed]:
    """The tenant's projects by slug, at most LISTED_MAX."""
    rows = await connection.fetch(_LIST, tenant, LISTED_MAX)
    return [Listed(project=_scope(row), aliases=tuple(row["aliases"])) for row in rows]


async def rename(
    connection: asyncpg.Connection, scope: ProjectScope, client: str, *, slug: str | None, display_name: str | None
) -> ProjectScope | None:
    """The project under another name, on a session of the operator; None where it has both already.

    What writes to it at this moment is waited for. Raises InvalidArgument where the slug is taken.
    """
    try:
        row = await connection.fetchrow(_RENAME, scope.tenant, scope.project_id, slug, display_name, client)
    except asyncpg.UniqueViolationError:
        raise InvalidArgument(
            "NEW-SLUG",
            f"{slug} is another project of tenant {scope.tenant}",
            next="Choose another name, or rename that one first.",
        ) from None
    return None if row is None else _scope(row)


async def untie(connection: asyncpg.Connection, tenant: str, client: str, aliases: Aliases) -> list[str]:
    """Takes these aliases away, on a session of the operator: the slugs of the projects that they led to."""
    rows = await connection.fetch(_REMOVE_ALIASES, tenant, list(aliases), list(aliases.values()), client)
    return sorted({row["slug"] for row in rows})


async def _candidates(
    connection: asyncpg.Connection,
    tenant: str,
    project: UUID | str | None,
    aliases: Aliases,
) -> list[ProjectScope]:
    found: dict[UUID, ProjectScope] = {}
    if project is not None:
        named = await _named(connection, tenant, project)
        if named is not None:
            found[named.project_id] = named
    if aliases:
        for row in await connection.fetch(_BY_ALIAS, tenant, list(aliases), list(aliases.values())):
            found[row["id"]] = _scope(row)
    return list(found.values())


async def _named(connection: asyncpg.Connection, tenant: str, project: UUID | str) -> ProjectScope | None:
    statement = _BY_ID if isinstance(project, UUID) else _BY_SLUG
    row = await connection.fetchrow(statement, tenant, project)
    return None if row is None else _scope(row)


async def _create(
    connection: asyncpg.Connection, tenant: str, author: Author, slug: str, display_name: str | None
) -> tuple[ProjectScope, Literal["resolved", "created"]]:
    row = await connection.fetchrow(_CREATE, uuid4(), tenant, slug, display_name, author.client, author.request_id)
    if row is not None:
        return _scope(row), "created"
    standing = await _named(connection, tenant, slug)
    assert standing is not None
    return standing, "resolved"


async def _link(connection: asyncpg.Connection, author: Author, scope: ProjectScope, aliases: Aliases) -> None:
    await connection.execute(
        _ADD_ALIASES,
        scope.tenant,
        scope.project_id,
        list(aliases),
        list(aliases.values()),
        author.client,
        author.request_id,
    )
    found = await _candidates(connection, scope.tenant, scope.project_id, aliases)
    if len(found) > 1:
        raise _ambiguous(found)


async def _others(connection: asyncpg.Connection, scope: ProjectScope, given: Aliases) -> tuple[str, ...]:
    """What leads to the project before these aliases do: other repositories than the one given, or all where none of
    the aliases did. Other folders of one repository are its clones, and a repository's own folder is itself."""
    rows = await connection.fetch(
        _ALIASES_OF, scope.tenant, scope.project_id, list(given), list(given.values()), ALIASES_READ_MAX
    )
    known = {(row["kind"], row["value"]) for row in rows}
    others = [(kind, value) for kind, value in sorted(known) if value not in given.values()]
    is_other_repository = "git_remote" in given and any(kind == "git_remote" for kind, _ in others)
    is_stranger = known.isdisjoint(given.items())
    return tuple(dict.fromkeys(value for _, value in others)) if is_other_repository or is_stranger else ()


def _slug(project: UUID | str | None, aliases: Aliases) -> str:
    if isinstance(project, UUID):
        raise InvalidArgument(
            "project",
            "a project is made under a slug, its UUID is issued",
            next="Give a slug, or leave project out and give its git_remote.",
        )
    if project is not None:
        return project
    name = re.split(r"[/:\\]", (aliases.get("git_remote") or aliases["workspace_path"]).rstrip("/\\"))[-1]
    slug = re.sub(r"[^a-z0-9._-]+", "-", name.lower().removesuffix(".git"))[:64].strip("._-")
    if len(slug) < 2:
        raise InvalidArgument(
            "project", "no slug can be made of these aliases", next="Name the project after its repository."
        )
    return slug


def _slug_taken(slug: str) -> InvalidArgument:
    return InvalidArgument(
        "project",
        f"{slug} is a project already and these aliases do not lead to it",
        next=f"Give project={slug} to link them to it, or another slug to make a new project.",
    )


def _ambiguous(found: list[ProjectScope]) -> ProjectAmbiguous:
    names = ", ".join(f"{scope.slug} ({scope.project_id})" for scope in found)
    return ProjectAmbiguous(
        f"project: these names lead to different projects: {names}.",
        next="Name the one you mean by its slug or UUID, without the others.",
    )


def _elsewhere(project: UUID | str, scope: ProjectScope, *, create: bool) -> ProjectAmbiguous | ProjectNotFound:
    """For a project that is not there, given with aliases of one that is."""
    other = f"{scope.slug} ({scope.project_id})"
    if create and isinstance(project, str):
        return ProjectAmbiguous(
            f"project: {project} is not there yet, and these aliases lead to {other}; nothing was made.",
            next=f"Give project={scope.slug} for that one, or {project} without these aliases to make it.",
        )
    return ProjectNotFound(
        f"project: there is no project {project}; these aliases lead to {other}.",
        next=f"Give project={scope.slug} if you mean that one.",
    )


async def _required(connection: asyncpg.Connection, tenant: str, seen: Aliases | None = None) -> ProjectRequired:
    """`seen` is what this client could have been known by: tied to a project once, it needs no name again.

    No slug is spelled out: models took an example as it stood, and unrelated repositories became one project.
    """
    here = " and ".join(f"{kind}={value}" for kind, value in (seen or {}).items())
    slugs = await _slugs(connection, tenant)
    make = (
        f"Call project_use with create=true, {here}: it makes a project named after them and ties this folder to it"
        if here
        else "Call project_use with create=true and the git_remote or workspace_path of your work to make one"
    )
    name = ", or give one of them as project in each call, if it is of the same work" if slugs else ""
    return ProjectRequired(f"project: none was named and none is known here. {_told(slugs)}", next=f"{make}{name}.")


async def _not_found(connection: asyncpg.Connection, tenant: str, project: UUID | str | None) -> ProjectNotFound:
    named = "no project has these aliases" if project is None else f"there is no project {project}"
    if isinstance(project, str) and (row := await connection.fetchrow(_RENAMED, tenant, project)) is not None:
        # Making one by the old name would begin an empty memory beside the one that is meant.
        return ProjectNotFound(
            f"project: {named}: it was renamed to {row['slug']}.", next=f"Give project={row['slug']} ({row['id']})."
        )
    slugs = await _slugs(connection, tenant)
    # A UUID is issued: none is made under a given one.
    wanted = f"project={project}" if isinstance(project, str) else "a slug as project" if project else "the same"
    name = "Name one of them, or call" if slugs else "Call"
    return ProjectNotFound(
        f"project: {named}. {_told(slugs)}",
        next=f"{name} project_use with {wanted} and create=true to make it.",
    )


async def _slugs(connection: asyncpg.Connection, tenant: str) -> list[str]:
    return [row["slug"] for row in await connection.fetch(_LIST, tenant, NAMED_IN_ERRORS_MAX + 1)]


def _told(slugs: list[str]) -> str:
    if not slugs:
        return "There are no projects yet."
    more = " and more" if len(slugs) > NAMED_IN_ERRORS_MAX else ""
    return f"Projects: {', '.join(slugs[:NAMED_IN_ERRORS_MAX])}{more}."


def _scope(row: asyncpg.Record) -> ProjectScope:
    return ProjectScope(tenant=row["tenant"], project_id=row["id"], slug=row["slug"], display_name=row["display_name"])
