"""The tool project_use: finds the project of a workspace, and makes it on request."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Literal
from uuid import UUID

from server.arguments import Arguments, Checked, boolean, flag, string
from server.call import Call, Caller
from server.tools.parts import Project
from server.tools.tool import Tool, writes
from server.tools.views import View
from shared import limits, workspace
from shared.domain import DEFAULT_SLUG, LOCAL_TENANT, Aliases, ProjectScope, Used
from shared.errors import InvalidArgument

DESCRIPTION = """\
Find, or make, the project whose memory this work belongs to. Needed once, after PROJECT_REQUIRED or \
PROJECT_NOT_FOUND; else the workspace decides.
Give what you know of project, git_remote and workspace_path; all must point at one project. create=true \
makes it if none matches. Remote and folder given beside a project's name are tied to it: all clients there \
find it then. One per repository, not per task, branch or conversation.
Example: {"create": true, "git_remote": "git@github.com:acme/billing-api.git"}"""

OTHERS_SHOWN_MAX = 5


class ProjectUseArguments(Arguments):
    project: Project = None
    git_remote: Annotated[str | None, Checked(limits.git_remote, string("URL"))] = None
    workspace_path: Annotated[str | None, Checked(limits.workspace_path, string("Absolute path of its root"))] = None
    create: Annotated[bool, Checked(flag("create"), boolean())] = False
    display_name: Annotated[str | None, Checked(limits.display_name, string("Max 200 bytes"))] = None


class ProjectUseResult(View):
    outcome: Literal["resolved", "created"]
    project_id: UUID
    slug: str
    display_name: str | None = None
    guidance: str | None = None


async def run(call: Call, arguments: ProjectUseArguments) -> ProjectUseResult:
    project, aliases = arguments.project, _aliases(arguments)
    if not call.caller.has_default:
        _refuse_home(aliases)
    names_nothing = project is None and not aliases
    if names_nothing:
        # As in all calls: what the setting or the header names, what the credential is bound to, over HTTP `default`,
        # which the first write alone makes, else the workspace.
        defaults = call.caller.has_default and call.caller.bound_to is None and not arguments.create
        project = call.caller.project or (DEFAULT_SLUG if defaults else None)
        aliases = call.caller.aliases if project is None else {}
    if arguments.create and arguments.display_name:
        await call.screened({"display_name": arguments.display_name}, otherwise="If it is none, choose another name.")
    links = arguments.create or (project is not None and bool(aliases))
    async with call.writing() if links else call.reading() as connection:
        with call.told_of_setting(names_it=not names_nothing):
            if names_nothing and project is None and not arguments.create:
                found = await call.projects.resolve_alias(connection, call.caller.tenant, aliases)
                used = Used(outcome="resolved", project=found)
            else:
                used = await call.projects.use(
                    connection,
                    call.caller.tenant,
                    call.caller.author,
                    project=project,
                    aliases=aliases,
                    create=arguments.create,
                    display_name=arguments.display_name,
                )
        unnamed = await call.unnamed(connection)
    call.project = used.project.slug
    told = (_shared(call.caller, used, aliases), _guidance(call.caller, used.project, unnamed))
    return ProjectUseResult(
        outcome=used.outcome,
        project_id=used.project.project_id,
        slug=used.project.slug,
        display_name=used.project.display_name,
        guidance=" ".join(filter(None, told)) or None,
    )


def _shared(caller: Caller, used: Used, given: Aliases) -> str | None:
    """For a second repository that a name alone led here: nobody else would notice."""
    if not used.others:
        return None
    others = ", ".join(used.others[:OTHERS_SHOWN_MAX])
    more = f" and {len(used.others) - OTHERS_SHOWN_MAX} more" if used.others[OTHERS_SHOWN_MAX:] else ""
    tenant = "" if caller.tenant == LOCAL_TENANT else f" --tenant {caller.tenant}"
    undo = " and ".join(
        f"`memhub project untie {shlex.quote(place)}{tenant}`" for place in dict.fromkeys(given.values())
    )
    return (
        f"{used.project.slug} is also the project of {others}{more}: they share one memory with this work. "
        f"If that is not meant, tell the user: {undo} ends it."
    )


def _guidance(caller: Caller, used: ProjectScope, unnamed: ProjectScope | None) -> str | None:
    """None where calls that name no project use this one: a model takes what it resolved for what is in use."""
    if unnamed is not None and unnamed.project_id == used.project_id:
        return None
    if unnamed is not None:
        return f"Calls that name no project use {unnamed.slug}: give project={used.slug} in each that means this one."
    if caller.project is not None:
        # None can be made under an id.
        otherwise = (
            "." if isinstance(caller.project, UUID) else f", or make it with project={caller.project} and create=true."
        )
        return (
            f"Calls that name no project mean {caller.project}, which is not there: give project={used.slug} in each"
            f"{otherwise}"
        )
    here = ", ".join(f"{kind}={value}" for kind, value in caller.aliases.items())
    tie = (
        f", or call project_use with project={used.slug}, create=true and {here} to tie this folder to it"
        if here
        else ""
    )
    return f"Calls that name no project are refused here: give project={used.slug} in each{tie}."


def _refuse_home(aliases: Aliases) -> None:
    """Of the user of a server over stdio: it would be tied, and lead nowhere from there."""
    if "workspace_path" in aliases and workspace.is_home(Path(aliases["workspace_path"])):
        raise InvalidArgument(
            "workspace_path",
            "is the home of this user, which belongs to no one project",
            next="Send the folder that is worked in, or give project in each call.",
        )


def _aliases(arguments: ProjectUseArguments) -> Aliases:
    given: Aliases = {
        "git_remote": arguments.git_remote or "",
        "workspace_path": arguments.workspace_path or "",
    }
    return {kind: value for kind, value in given.items() if value}


TOOL = Tool(
    name="project_use",
    description=DESCRIPTION,
    arguments=ProjectUseArguments,
    result=ProjectUseResult,
    hints=writes(destructive=False, idempotent=True),
    run=run,
)
