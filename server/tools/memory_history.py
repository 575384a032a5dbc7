"""The tool memory_history: everything that ever held for one memory, retired ones too."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from server import arguments as bounds
from server.arguments import Arguments
from server.call import Call
from server.tools.tool import Tool, reads
from server.tools.views import AttestationView, AuditView, RevisionView, View, Word

DESCRIPTION = """\
Read one memory whole, also a retired one: all revisions with author, time and reason, what it superseded \
and what superseded it, witnesses, audit. Use it to learn why something changed, for truncated content, \
or for the revision that memory_revise needs.
Example: {"memory_id": "<id>"}
Unless status is ACTIVE it is the past: superseded_by leads to what holds now."""


class MemoryHistoryArguments(Arguments):
    memory_id: bounds.MemoryId
    project: bounds.Name | None = None


class MemoryHistoryResult(View):
    memory_id: UUID
    status: Annotated[str, Word]
    scope: Annotated[str, Word]
    expired: bool = False
    revisions: tuple[RevisionView, ...]
    supersedes: tuple[UUID, ...] = ()
    superseded_by: UUID | None = None
    attestations: tuple[AttestationView, ...] = ()
    audit: tuple[AuditView, ...] = ()


async def run(call: Call, arguments: MemoryHistoryArguments) -> MemoryHistoryResult:
    async with call.reading() as connection:
        scope = await call.scope(connection, arguments.project)
        history = await call.backend.memories.history(
            connection, scope, memory_id=UUID(arguments.memory_id), author=call.caller.author
        )
    return MemoryHistoryResult.model_validate(history)


TOOL = Tool(
    name="memory_history",
    description=DESCRIPTION,
    arguments=MemoryHistoryArguments,
    result=MemoryHistoryResult,
    hints=reads(),
    run=run,
)
