"""The tool memory_forget: takes a memory out of search, and brings it back."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from server import arguments as bounds
from server.arguments import Arguments
from server.backend import ForgetRequest
from server.call import Call
from server.tools.tool import Tool, writes
from server.tools.views import View, Word

DESCRIPTION = """\
Take a wrong or obsolete memory out of search when nothing replaces it (else memory_remember with \
supersedes). History keeps the text; restore=true brings it back as a new revision. Nothing is erased: a \
stored secret must be revoked, and purged by a person.
Example: {"memory_id": "<id>", "reason": "the legacy importer is gone"}
outcome: forgotten; already_forgotten; restored; already_active; not_active = superseded, which restore \
never undoes; duplicate = live memory `duplicate_of` says the same."""


class MemoryForgetArguments(Arguments):
    memory_id: bounds.MemoryId
    reason: bounds.Note | None = Field(None, description="Max 1,000 bytes")
    restore: bool = False
    project: bounds.Name | None = None


class MemoryForgetResult(View):
    outcome: Annotated[
        Literal["forgotten", "already_forgotten", "restored", "already_active", "not_active", "duplicate"],
        Word,
    ]
    memory_id: UUID
    revision: int | None = None
    duplicate_of: UUID | None = None
    superseded_by: UUID | None = None


async def run(call: Call, arguments: MemoryForgetArguments) -> MemoryForgetResult:
    request = ForgetRequest(
        memory_id=UUID(arguments.memory_id),
        author=call.caller.author,
        reason=arguments.reason,
        restore=arguments.restore,
    )
    async with call.writing() as connection:
        scope = await call.scope(connection, arguments.project)
        forgotten = await call.backend.memories.forget(connection, scope, request)
    return MemoryForgetResult.model_validate(forgotten)


TOOL = Tool(
    name="memory_forget",
    description=DESCRIPTION,
    arguments=MemoryForgetArguments,
    result=MemoryForgetResult,
    hints=writes(destructive=True, idempotent=True),
    run=run,
)
