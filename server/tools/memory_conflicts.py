"""The tool memory_conflicts: what replaced what, newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from server.arguments import Arguments, Checked, choices, integer, string
from server.call import Call
from server.tools.parts import Project
from server.tools.tool import Tool, reads
from server.tools.views import View
from shared import limits
from shared.memories.requests import ConflictState

if TYPE_CHECKING:
    from shared.memories.conflicts import Conflict

CONFLICTS_LISTED = 20
EXCERPT_CHARACTERS_MAX = 400

DESCRIPTION = """\
What replaced what in the project, newest first: each superseded memory beside its successor and that one's source, \
with who did it and when. Use it to see how a decision came about or what changed lately; \
to find what holds now: memory_search.
Example: {"limit": 10}
state "open" is for contradictions that nobody settled. next_cursor gives the next page; memory_history has both \
sides whole."""


class MemoryConflictsArguments(Arguments):
    state: Annotated[
        ConflictState, Checked(lambda value: limits.choice("state", value, ConflictState), choices("resolved", "open"))
    ] = ConflictState.RESOLVED
    limit: Annotated[int | None, Checked(limits.limit, integer(1, limits.LIMIT_MAX))] = None
    cursor: Annotated[str | None, Checked(limits.cursor, string())] = None
    project: Project = None


class MemoryConflictsResult(View):
    conflicts: tuple[dict[str, Any], ...]
    guidance: str
    next_cursor: str | None = None


async def run(call: Call, arguments: MemoryConflictsArguments) -> MemoryConflictsResult:
    async with call.reading() as connection:
        scope = await call.scope(connection, arguments.project)
        told = await call.backend.memories.conflicts(
            connection,
            scope,
            call.caller.author,
            state=arguments.state,
            limit=arguments.limit or CONFLICTS_LISTED,
            cursor=arguments.cursor,
        )
    return MemoryConflictsResult(
        conflicts=tuple(_shown(conflict) for conflict in told.conflicts),
        guidance=told.guidance,
        next_cursor=told.next_cursor,
    )


def _shown(conflict: Conflict) -> dict[str, Any]:
    told: dict[str, Any] = {
        "replaced": {
            "memory_id": str(conflict.memory_id),
            "type": conflict.type,
            "excerpt": _excerpt(conflict.content),
        },
        "by": {
            "memory_id": str(conflict.superseded_by),
            "revision": conflict.successor_revision,
            "type": conflict.successor_type,
            "excerpt": _excerpt(conflict.successor_content),
            "status": conflict.successor_status,
        },
        "retired_at": conflict.retired_at,
        "retired_by": conflict.retired_by,
        "author_client": conflict.client,
        "reason": conflict.reason,
        "source": conflict.successor_source,
    }
    return {name: value for name, value in told.items() if value is not None}


def _excerpt(content: str | None) -> str | None:
    return None if content is None else content[:EXCERPT_CHARACTERS_MAX]


TOOL = Tool(
    name="memory_conflicts",
    description=DESCRIPTION,
    arguments=MemoryConflictsArguments,
    result=MemoryConflictsResult,
    hints=reads(),
    run=run,
)
