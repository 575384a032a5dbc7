"""The tool memory_remember: stores a memory, and in the same step retires those that it replaces."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Annotated, Literal
from uuid import UUID

from server import background
from server.arguments import Arguments, Checked, array, boolean, choices, flag, integer, string
from server.call import Call, Caller
from server.tools.parts import TYPE_NAMES, Content, Importance, Project, RequestId, Tags
from server.tools.tool import Tool, writes
from server.tools.views import MemoryView, ObstacleView, SimilarView, View
from shared import limits
from shared.domain import AuthorKind, MemoryType, ProjectScope, Scope
from shared.errors import ConversationRequired
from shared.limits.values import whole
from shared.memories.requests import Remember

SIMILAR_S_MAX = 0.2

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
outcome: created; deduplicated = known already, you count as a witness, `differs` names which of type, tags and \
expires_at you said otherwise and stay as they were: memory_revise changes the last two, the type only the same \
content again with its id in supersedes; refused = a target of supersedes is not ACTIVE, nothing was written: \
read the successors in `obstacles`, decide again; idempotent_replay = done before under this client_request_id. \
`similar`: live neighbours; supersede one that yours contradicts. With replaced_this your very words held before \
and it replaced them: forget yours, or supersede it if that was reversed. Empty: none; left out: not looked up in \
time."""


class MemoryRememberArguments(Arguments):
    content: Content
    type: Annotated[
        MemoryType,
        Checked(
            lambda value: limits.choice("type", value, MemoryType),
            choices(*TYPE_NAMES, description="A TASK expires: in 7 days, at most 30"),
        ),
    ] = MemoryType.FACT
    project: Project = None
    category: Annotated[str | None, Checked(limits.category, string("Max 128 bytes"))] = None
    tags: Tags = None
    importance: Importance = None
    expires_at: Annotated[
        datetime | None,
        Checked(lambda value: limits.instant("expires_at", value), string("2026-08-01T12:00:00Z; or ttl_days")),
    ] = None
    ttl_days: Annotated[
        int | None,
        Checked(
            lambda value: whole("ttl_days", value, least=1, most=limits.TTL_DAYS_MAX),
            integer(1, limits.TTL_DAYS_MAX),
        ),
    ] = None
    supersedes: Annotated[
        tuple[UUID, ...],
        Checked(
            limits.memory_ids,
            array(string(), items_max=limits.SUPERSEDES_MAX, description="Ids that this replaces"),
        ),
    ] = ()
    scope: Annotated[
        Scope,
        Checked(
            lambda value: limits.choice("scope", value, Scope),
            choices("project", "conversation", description="conversation: seen only there"),
        ),
    ] = Scope.PROJECT
    source: Annotated[str | None, Checked(limits.source, string("URL or file, max 1,000 bytes"))] = None
    author_kind: Annotated[
        AuthorKind,
        Checked(
            lambda value: limits.choice("author_kind", value, AuthorKind),
            choices("agent", "human_confirmed", "import", description="human_confirmed: the user said so"),
        ),
    ] = AuthorKind.AGENT
    acknowledge_sensitive: Annotated[
        bool, Checked(flag("acknowledge_sensitive"), boolean("Overrides a false SENSITIVE_CONTENT"))
    ] = False
    client_request_id: RequestId = None


class MemoryRememberResult(View):
    outcome: Literal["created", "deduplicated", "idempotent_replay", "refused"]
    memory: MemoryView | None = None
    superseded: tuple[UUID, ...] = ()
    attestations: int | None = None
    similar: tuple[SimilarView, ...] | None = None
    embedding: str | None = None
    differs: tuple[str, ...] = ()
    obstacles: tuple[ObstacleView, ...] = ()


async def run(call: Call, arguments: MemoryRememberArguments) -> MemoryRememberResult:
    acknowledged = await call.screened(
        {
            "content": arguments.content,
            "category": arguments.category,
            "tags": " ".join(arguments.tags or ()),
            "source": arguments.source,
        },
        acknowledged=arguments.acknowledge_sensitive,
        otherwise="If it is none, repeat with acknowledge_sensitive=true.",
    )
    request = _request(call.caller, arguments, acknowledged)
    memories = call.backend.memories
    async with call.writing() as connection:
        scope = await call.scope(connection, arguments.project)
        remembered = await memories.remember(connection, scope, call.caller.author, request)
    result = MemoryRememberResult.model_validate(remembered)
    if result.outcome == "refused":
        # Of a memory that there is not.
        result.attestations = result.embedding = None
    if result.outcome == "created" and result.memory is not None:
        result.similar = await _similar(call, scope, arguments.content, written=result.memory.memory_id)
    return result


async def _similar(call: Call, scope: ProjectScope, content: str, *, written: UUID) -> tuple[SimilarView, ...] | None:
    """What the writer should have seen before, None when that was not found out in time.

    The write stands, so nothing here may make the answer late or fail. A late look ends by itself: to cancel it would
    send the database a cancellation, which waits behind a pooler.
    """
    looking = call.backend.beside(_look(call, scope, content, written=written))
    await asyncio.wait({looking}, timeout=SIMILAR_S_MAX)
    return looking.result() if looking.done() and not looking.cancelled() else None


async def _look(call: Call, scope: ProjectScope, content: str, *, written: UUID) -> tuple[SimilarView, ...] | None:
    memories = call.backend.memories
    with background.surviving("similar_not_found"):
        async with call.reading() as connection:
            model = await memories.current_model(connection)
        understood = await memories.meaning(content, model)
        async with call.reading() as connection:
            close = await memories.similar(
                connection, scope, call.caller.author, content, written=written, understood=understood
            )
        return None if close is None else tuple(SimilarView.model_validate(one) for one in close)
    return None


def _request(caller: Caller, arguments: MemoryRememberArguments, acknowledged: str | None) -> Remember:
    if arguments.scope is Scope.CONVERSATION and caller.author.conversation is None:
        raise ConversationRequired(
            "scope: 'conversation' needs a conversation, and this call belongs to none.",
            next="Use scope=project, or name one: X-Conversation-Id over HTTP, MEMHUB_CONVERSATION over stdio.",
        )
    expiry = limits.expiry(
        expires_at=arguments.expires_at and arguments.expires_at.isoformat(),
        ttl_days=arguments.ttl_days,
        type=arguments.type,
        now=datetime.now(UTC),
    )
    return Remember(
        content=arguments.content,
        type=arguments.type,
        category=arguments.category,
        tags=arguments.tags or (),
        importance=arguments.importance,
        expires_at=expiry.at,
        ttl_days=None if expiry.ttl is None else expiry.ttl.days,
        supersedes=arguments.supersedes,
        scope=arguments.scope,
        source=arguments.source,
        author_kind=arguments.author_kind,
        acknowledged=acknowledged,
        client_request_id=arguments.client_request_id,
    )


TOOL = Tool(
    name="memory_remember",
    description=DESCRIPTION,
    arguments=MemoryRememberArguments,
    result=MemoryRememberResult,
    hints=writes(destructive=False, idempotent=False),
    run=run,
)
