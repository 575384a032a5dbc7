"""The tool memory_history: everything that ever held for one memory, retired ones too."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from server.arguments import Arguments, Checked, integer
from server.call import Call
from server.tools.parts import MemoryId, Project
from server.tools.tool import Tool, reads
from server.tools.views import AttestationView, EventView, RevisionView, View
from shared import limits

DESCRIPTION = """\
Read one memory whole, also a retired one: all revisions with author, time and reason, what it superseded \
and what superseded it, witnesses, audit. Use it to learn why something changed, for truncated content, \
or for the revision that memory_revise needs.
Example: {"memory_id": "<id>"}
Unless status is ACTIVE it is the past: superseded_by leads to what holds now. earlier_revisions says how many \
were left out of a very long history; before_revision reads them."""


class MemoryHistoryArguments(Arguments):
    memory_id: MemoryId
    before_revision: Annotated[int | None, Checked(limits.before_revision, integer(2, limits.REVISION_MAX))] = None
    project: Project = None


class MemoryHistoryResult(View):
    memory_id: UUID
    status: str
    scope: str
    created_at: datetime
    retired_at: datetime | None = None
    retired_by: str | None = None
    supersedes: tuple[UUID, ...] = ()
    superseded_by: UUID | None = None
    revisions: tuple[RevisionView, ...]
    earlier_revisions: int | None = None
    attestations: tuple[AttestationView, ...] = ()
    events: tuple[EventView, ...] = ()


async def run(call: Call, arguments: MemoryHistoryArguments) -> MemoryHistoryResult:
    async with call.reading() as connection:
        scope = await call.scope(connection, arguments.project)
        history = await call.backend.memories.history(
            connection,
            scope,
            call.caller.author,
            arguments.memory_id,
            before_revision=arguments.before_revision,
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
