"""The tool memory_stats: what a project holds, counted exactly as the caller may see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from server.arguments import Arguments
from server.call import Call
from server.tools.parts import Project
from server.tools.tool import Tool, reads
from server.tools.views import View

if TYPE_CHECKING:
    from shared.memories.stats import Used, Written

EXCERPT_CHARACTERS_MAX = 160

DESCRIPTION = """\
Exact counts of the project's memories by status, and of the ACTIVE ones by type and scope; the share that can be \
found by meaning yet (semantic_coverage); what was used most and written last. To find something: memory_search.
Example: {"project": "my-app"}"""

Counts = Annotated[dict[str, int], Field(default_factory=dict)]


class MemoryStatsArguments(Arguments):
    project: Project = None


class MemoryStatsResult(View):
    by_status: Counts
    by_type: Counts
    by_scope: Counts
    expired: int
    searchable: int
    semantic_coverage: float
    most_used: tuple[dict[str, Any], ...] = ()
    last_writes: tuple[dict[str, Any], ...] = ()


async def run(call: Call, arguments: MemoryStatsArguments) -> MemoryStatsResult:
    async with call.reading() as connection:
        scope = await call.scope(connection, arguments.project)
        told = await call.backend.memories.stats(connection, scope, call.caller.author)
    return MemoryStatsResult(
        by_status=told.by_status(),
        by_type=told.by_type(),
        by_scope=told.by_scope(),
        expired=told.expired,
        searchable=told.searchable,
        semantic_coverage=told.semantic_coverage,
        most_used=tuple(
            _noted(used, search_hits=used.search_hits, context_hits=used.context_hits, history_hits=used.history_hits)
            for used in told.most_used
        ),
        last_writes=tuple(
            _noted(written, author_client=written.author_client, updated_at=written.updated_at)
            for written in told.last_writes
        ),
    )


def _noted(memory: Used | Written, **more: Any) -> dict[str, Any]:
    return {
        "memory_id": str(memory.memory_id),
        "type": memory.type,
        "excerpt": memory.content[:EXCERPT_CHARACTERS_MAX],
        **more,
    }


TOOL = Tool(
    name="memory_stats",
    description=DESCRIPTION,
    arguments=MemoryStatsArguments,
    result=MemoryStatsResult,
    hints=reads(),
    run=run,
)
