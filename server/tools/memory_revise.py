"""The tool memory_revise: replaces the text of a memory, if nobody was first."""

from __future__ import annotations

from typing import Annotated, Literal

from server.arguments import Arguments, Checked, array, integer, string
from server.call import Call
from server.tools.parts import Content, Importance, MemoryId, Project, RequestId
from server.tools.tool import Tool, writes
from server.tools.views import MemoryView, View
from shared import limits
from shared.memories.requests import Revise

DESCRIPTION = """\
Correct or extend a memory whose substance still holds: better words, added detail, other tags. If the \
decision itself changed, use memory_remember with supersedes.
expected_revision is the one you read: nobody's change gets lost.
Example: {"memory_id": "<id>", "expected_revision": 1, "content": "Cursor pagination, page size 50.", \
"change_reason": "page size settled"}
outcome: revised; conflict = somebody was first, `memory` is what holds now: merge, call again with its \
revision; not_active = superseded, forgotten or expired (a future expires_at revives an expired one); \
duplicate = live `memory` already says it; idempotent_replay."""


class MemoryReviseArguments(Arguments):
    memory_id: MemoryId
    expected_revision: Annotated[int, Checked(limits.expected_revision, integer(1))]
    content: Content
    tags: Annotated[
        tuple[str, ...] | None,
        Checked(
            limits.tags,
            array(string(), items_max=limits.TAGS_MAX, description="Left out: unchanged; [] clears"),
        ),
    ] = None
    importance: Importance = None
    expires_at: Annotated[
        limits.Expiry | None,
        Checked(
            limits.revised_expiry,
            string('Instant with offset; "never" clears'),
        ),
    ] = None
    change_reason: Annotated[
        str | None, Checked(lambda value: limits.reason(value, "change_reason"), string("Max 1,000 bytes"))
    ] = None
    client_request_id: RequestId = None
    project: Project = None


class MemoryReviseResult(View):
    outcome: Literal["revised", "conflict", "not_active", "duplicate", "idempotent_replay"]
    memory: MemoryView
    previous_revision: int | None = None


async def run(call: Call, arguments: MemoryReviseArguments) -> MemoryReviseResult:
    await call.screened(
        {
            "content": arguments.content,
            "tags": " ".join(arguments.tags or ()),
            "change_reason": arguments.change_reason,
        },
        otherwise="If it is none, use memory_remember with supersedes and acknowledge_sensitive=true.",
    )
    async with call.writing() as connection:
        scope = await call.scope(connection, arguments.project)
        revised = await call.backend.memories.revise(connection, scope, call.caller.author, _request(arguments))
    return MemoryReviseResult.model_validate(revised)


def _request(arguments: MemoryReviseArguments) -> Revise:
    expiry = arguments.expires_at
    return Revise(
        memory_id=arguments.memory_id,
        expected_revision=arguments.expected_revision,
        content=arguments.content,
        tags=arguments.tags,
        importance=arguments.importance,
        expires_at=expiry.at if expiry is not None else None,
        never_expires=expiry is not None and expiry.at is None,
        reason=arguments.change_reason,
        client_request_id=arguments.client_request_id,
    )


TOOL = Tool(
    name="memory_revise",
    description=DESCRIPTION,
    arguments=MemoryReviseArguments,
    result=MemoryReviseResult,
    hints=writes(destructive=False, idempotent=True),
    run=run,
)
