"""The tool project_use: finds the project of a workspace, and makes it on request."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from server.arguments import Arguments, Name
from server.call import Call
from server.tools.tool import Tool, writes
from server.tools.views import View, Word

DESCRIPTION = """\
Find, or make, the project whose memory this work belongs to. Needed once, after PROJECT_REQUIRED or \
PROJECT_NOT_FOUND; else the workspace decides.
Give what you know of project, git_remote and workspace_path; all must point at one project. create=true \
makes it if none matches and ties remote and folder to it, so that all clients there find it. One per \
repository, not per task, branch or conversation.
Example: {"create": true, "git_remote": "git@github.com:acme/billing-api.git"}"""


class ProjectUseArguments(Arguments):
    project: Name | None = Field(None, description="UUID or slug: 2-64 of a-z 0-9 . _ -")
    git_remote: Name | None = Field(None, description="URL")
    workspace_path: Name | None = Field(None, description="Absolute path of its root")
    create: bool = False
    display_name: Name | None = Field(None, description="Used when it is made")


class ProjectUseResult(View):
    outcome: Annotated[Literal["resolved", "created"], Word]
    project_id: UUID
    slug: str
    display_name: str | None = None


async def run(call: Call, arguments: ProjectUseArguments) -> ProjectUseResult:
    async with call.writing() as connection:
        used = await call.backend.projects.use(
            connection,
            tenant=call.caller.tenant,
            project=arguments.project,
            git_remote=arguments.git_remote,
            workspace_path=arguments.workspace_path,
            create=arguments.create,
            display_name=arguments.display_name,
        )
    result = ProjectUseResult.model_validate(used)
    call.project = result.slug
    return result


TOOL = Tool(
    name="project_use",
    description=DESCRIPTION,
    arguments=ProjectUseArguments,
    result=ProjectUseResult,
    hints=writes(destructive=False, idempotent=True),
    run=run,
)
