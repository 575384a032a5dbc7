"""The tool memory_revise: replaces the text of a memory, if nobody was first."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from server import arguments as bounds
from server.arguments import Arguments, moment
from server.backend import ReviseRequest
from server.call import Call, Caller
from server.tools.tool import Tool, writes
from server.tools.views import MemoryView, View, Word

DESCRIPTION = """\
Correct or extend a memory whose substance still holds: better words, added detail, other tags. If the \
decision itself changed, use memory_remember with supersedes.
expected_revision is the one you read: nobody's change gets lost.
Example: {"memory_id": "<id>", "expected_revision": 1, "content": "Cursor pagination, page size 50.", \
"change_reason": "page size settled"}
outcome: revised; conflict = somebody was first, `memory` is what holds now: merge, call again with its \
revision; not_active = superseded, forgotten or expired (a future expires_at revives an expired one); \
duplicate = live memory `duplicate_of` already says it; idempotent_replay."""


class MemoryReviseArguments(Arguments):
    memory_id: bounds.MemoryId
    expected_revision: Annotated[int, Field(ge=1, lt=2**31), bounds.Whole]
    content: bounds.Content = Field(description="Whole new text, 1-32,000 bytes")
    tags: bounds.Tags | None = Field(None, description="Left out: unchanged; [] clears")
    importance: bounds.Importance | None = None
    expires_at: bounds.InstantOrNever | None = Field(None, description='Instant with offset; "never" clears')
    change_reason: bounds.Note | None = Field(None, description="Max 1,000 bytes")
    client_request_id: bounds.RequestKey | None = None
    project: bounds.Name | None = None


class MemoryReviseResult(View):
    outcome: Annotated[Literal["revised", "conflict", "not_active", "duplicate", "idempotent_replay"], Word]
    memory: MemoryView | None = None
    previous_revision: int | None = None
    duplicate_of: UUID | None = None
    superseded_by: UUID | None = None


async def run(call: Call, arguments: MemoryReviseArguments) -> MemoryReviseResult:
    request = _request(call.caller, arguments)
    async with call.writing() as connection:
        scope = await call.scope(connection, arguments.project)
        revised = await call.backend.memories.revise(connection, scope, request)
    return MemoryReviseResult.model_validate(revised)


def _request(caller: Caller, arguments: MemoryReviseArguments) -> ReviseRequest:
    return ReviseRequest(
        memory_id=UUID(arguments.memory_id),
        expected_revision=arguments.expected_revision,
        content=arguments.content,
        author=caller.author,
        tags=None if arguments.tags is None else bounds.unique(arguments.tags),
        importance=arguments.importance,
        expires_at=_expiry(arguments.expires_at),
        change_reason=arguments.change_reason,
        client_request_id=arguments.client_request_id,
    )


def _expiry(text: str | None) -> datetime | Literal["never"] | None:
    match text:
        case None:
            return None
        case "never":
            return "never"
        case instant:
            return moment(instant)


TOOL = Tool(
    name="memory_revise",
    description=DESCRIPTION,
    arguments=MemoryReviseArguments,
    result=MemoryReviseResult,
    hints=writes(destructive=False, idempotent=True),
    run=run,
)
