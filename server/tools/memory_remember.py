"""The tool memory_remember: stores a memory, and in the same step retires those that it replaces."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from server import arguments as bounds
from server.arguments import Arguments, moment, sized
from server.backend import RememberRequest
from server.call import Call, Caller
from server.tools.tool import Tool, writes
from server.tools.views import MemoryView, SimilarView, TargetView, View, Word
from shared.domain import AuthorKind, MemoryType, Scope
from shared.errors import ConversationRequired, InvalidArgument

TASK_DAYS_MAX = 30
TTL_DAYS_MAX = 3_650

DESCRIPTION = """\
Store one durable fact, decision, constraint or open task for every other client and later session of the \
project. Do it once something is settled, unasked.
One self-contained statement per call: subject, what holds, and why.
Example: {"content": "Pagination uses cursors, not offsets: offsets skipped rows under concurrent \
inserts.", "type": "DECISION"}
Do not store credentials, personal data, file contents, logs, transcripts, guesses, or what code and git \
history already say.
Search first. Replaces what no longer holds -> its ids in supersedes: it leaves search in the same step. \
Same statement, corrected or extended -> memory_revise. Wrong, without successor -> memory_forget.
outcome: created; deduplicated = known already, you count as a witness, `differs` names what stays as it \
was; refused = a target of supersedes is not ACTIVE, nothing was written: read the successors in \
`targets`, decide again; idempotent_replay = done before under this client_request_id. `similar`: live \
neighbours; supersede one that yours contradicts."""


class MemoryRememberArguments(Arguments):
    content: bounds.Content = Field(description="1-32,000 bytes of UTF-8")
    type: Literal["DECISION", "CONSTRAINT", "FACT", "TASK"] = Field(
        "FACT", description="A TASK expires: in 7 days, at most 30"
    )
    project: bounds.Name | None = Field(None, description="UUID or slug; default: the workspace's")
    category: Annotated[str, sized(bytes_max=bounds.CATEGORY_BYTES_MAX)] | None = Field(
        None, description="Max 128 bytes"
    )
    tags: bounds.Tags | None = Field(None, description="Each max 64 bytes")
    importance: bounds.Importance | None = None
    expires_at: bounds.Instant | None = Field(None, description="2026-08-01T12:00:00Z; or ttl_days")
    ttl_days: Annotated[int, Field(ge=1, le=TTL_DAYS_MAX), bounds.Whole] | None = None
    supersedes: Annotated[list[bounds.MemoryId], Field(max_length=bounds.SUPERSEDES_MAX)] | None = Field(
        None, description="Ids that this replaces"
    )
    scope: Literal["project", "conversation"] = Field("project", description="conversation: seen only there")
    source: bounds.Note | None = Field(None, description="URL or file, max 1,000 bytes")
    author_kind: Literal["agent", "human_confirmed", "import"] = Field(
        "agent", description="human_confirmed: the user said so"
    )
    acknowledge_sensitive: bool = Field(False, description="Overrides a false SENSITIVE_CONTENT")
    client_request_id: bounds.RequestKey | None = Field(None, description="Same key makes a retry safe")


class MemoryRememberResult(View):
    outcome: Annotated[Literal["created", "deduplicated", "idempotent_replay", "refused"], Word]
    memory: MemoryView | None = None
    superseded: tuple[UUID, ...] = ()
    attestations: int | None = None
    similar: tuple[SimilarView, ...] = ()
    embedding: Annotated[str, Word] | None = None
    differs: tuple[str, ...] | None = None
    targets: tuple[TargetView, ...] | None = None


async def run(call: Call, arguments: MemoryRememberArguments) -> MemoryRememberResult:
    request = _request(call.caller, arguments)
    async with call.writing() as connection:
        scope = await call.scope(connection, arguments.project)
        remembered = await call.backend.memories.remember(connection, scope, request)
    return MemoryRememberResult.model_validate(remembered)


def _request(caller: Caller, arguments: MemoryRememberArguments) -> RememberRequest:
    _check_expiry(arguments)
    if arguments.scope == "conversation" and caller.author.conversation is None:
        raise ConversationRequired(
            "scope 'conversation' needs a conversation, and this server was started without one.",
            next="Use scope 'project', or start the server with MEMHUB_CONVERSATION set.",
        )
    return RememberRequest(
        content=arguments.content,
        type=MemoryType(arguments.type),
        scope=Scope(arguments.scope),
        author=caller.author,
        author_kind=AuthorKind(arguments.author_kind),
        category=arguments.category,
        tags=bounds.unique(arguments.tags or []),
        importance=arguments.importance,
        expires_at=moment(arguments.expires_at) if arguments.expires_at else None,
        ttl_days=arguments.ttl_days,
        supersedes=bounds.ids(arguments.supersedes or []),
        source=arguments.source,
        acknowledge_sensitive=arguments.acknowledge_sensitive,
        client_request_id=arguments.client_request_id,
    )


def _check_expiry(arguments: MemoryRememberArguments) -> None:
    if arguments.ttl_days is None:
        return
    if arguments.expires_at is not None:
        raise InvalidArgument("ttl_days", "excludes expires_at", next="Give one of the two.")
    if arguments.type == "TASK" and arguments.ttl_days > TASK_DAYS_MAX:
        raise InvalidArgument(
            "ttl_days", f"a TASK lives {TASK_DAYS_MAX} days at most", next="Lower it, or store a FACT."
        )


TOOL = Tool(
    name="memory_remember",
    description=DESCRIPTION,
    arguments=MemoryRememberArguments,
    result=MemoryRememberResult,
    hints=writes(destructive=False, idempotent=False),
    run=run,
)
