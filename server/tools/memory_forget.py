"""The tool memory_forget: takes a memory out of search, and brings it back."""

from __future__ import annotations

from typing import Annotated, Literal

from server.arguments import Arguments, Checked, boolean, flag
from server.call import Call
from server.tools.parts import MemoryId, Project, Reason
from server.tools.tool import Tool, writes
from server.tools.views import MemoryView, View

DESCRIPTION = """\
Take a wrong or obsolete memory out of search when nothing replaces it (else memory_remember with \
supersedes). History keeps the text; restore=true brings it back as a new revision. Nothing is erased: a \
stored secret must be revoked, and purged by a person.
Example: {"memory_id": "<id>", "reason": "the legacy importer is gone"}
outcome: forgotten; already_forgotten; restored; already_active; not_active = superseded, which restore \
never undoes, or expired: remember it anew; duplicate = live `memory` says the same."""


class MemoryForgetArguments(Arguments):
    memory_id: MemoryId
    reason: Reason = None
    restore: Annotated[bool, Checked(flag("restore"), boolean())] = False
    project: Project = None


class MemoryForgetResult(View):
    outcome: Literal["forgotten", "already_forgotten", "restored", "already_active", "not_active", "duplicate"]
    memory: MemoryView


async def run(call: Call, arguments: MemoryForgetArguments) -> MemoryForgetResult:
    await call.screened({"reason": arguments.reason}, otherwise="If it is none, say it in other words.")
    memories = call.backend.memories
    act = memories.restore if arguments.restore else memories.forget
    async with call.writing() as connection:
        scope = await call.scope(connection, arguments.project)
        forgotten = await act(connection, scope, call.caller.author, arguments.memory_id, reason=arguments.reason)
    return MemoryForgetResult.model_validate(forgotten)


TOOL = Tool(
    name="memory_forget",
    description=DESCRIPTION,
    arguments=MemoryForgetArguments,
    result=MemoryForgetResult,
    hints=writes(destructive=True, idempotent=True),
    run=run,
)
