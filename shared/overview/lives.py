"""The life of one memory, for people: its state, a page of its revisions, who attested it, what happened to it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import asyncpg

from shared import projects, statements
from shared.domain import MemoryType, ProjectScope, Status
from shared.errors import MemoryNotFound
from shared.memories import history
from shared.memories.history import Attestation, AuditEvent
from shared.overview.views import View

ATTESTATIONS_MAX = 200
EVENTS_MAX = 200
CHAIN_STEPS_MAX = 20
CHAIN_NODES_MAX = 60

_SQL = statements.load("overview")
_LOCATE = _SQL["locate"]
_REVISIONS = _SQL["revisions"]
_USAGE = _SQL["usage"]
_EMBEDDING = _SQL["embedding"]
_CHAIN = _SQL["chain"]
_ATTESTATIONS = statements.load("memories")["attestations"]
_AUDIT_EVENTS = statements.load("memories")["audit_events"]


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The lifecycle of now; `revision` is the head's number."""

    scope: ProjectScope
    memory_id: UUID
    status: Status
    revision: int
    conversation: str | None
    created_at: datetime
    retired_at: datetime | None
    retired_by: str | None
    superseded_by: UUID | None
    expired: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision(history.Revision):
    """A client is not told in whose conversation another said it; people are."""

    author_conversation: str | None


@dataclass(frozen=True, slots=True)
class Usage:
    search_hits: int
    context_hits: int
    history_hits: int
    used_at: datetime


@dataclass(frozen=True, slots=True)
class Embedding:
    """The head's vectors by one model; `error` says why there are none."""

    name: str
    state: str
    chunks: int
    attempts: int | None
    error: str | None


@dataclass(frozen=True, slots=True)
class Link:
    """A memory of the chain: `step` counts from the one asked for, negative to what was replaced."""

    memory_id: UUID
    superseded_by: UUID | None
    step: int
    status: Status
    retired_at: datetime | None
    retired_by: str | None
    type: MemoryType
    author_client: str
    content: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """`revisions` are newest first, one more than was asked for where there are more."""

    state: State
    head: Revision
    revisions: tuple[Revision, ...]
    attestations: tuple[Attestation, ...]
    events: tuple[AuditEvent, ...]
    chain: tuple[Link, ...]
    usage: Usage | None
    embeddings: tuple[Embedding, ...]


async def life(
    connection: asyncpg.Connection,
    view: View,
    memory_id: UUID,
    *,
    conversation: str | None,
    up_to: int | None,
    revisions: int,
) -> Life:
    """All read at one instant; `up_to` is the newest revision shown, None the head.

    Raises MemoryNotFound, also for another tenant's and another conversation's memory.
    """
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        state = await locate(connection, view, memory_id, conversation=conversation)
        here = (state.scope.project_id, memory_id)
        newest = state.revision if up_to is None else up_to
        shown = await connection.fetch(_REVISIONS, *here, newest, revisions + 1)
        head = await connection.fetchrow(_REVISIONS, *here, state.revision, 1)
        attestations = await connection.fetch(_ATTESTATIONS, *here, ATTESTATIONS_MAX)
        events = await connection.fetch(_AUDIT_EVENTS, *here, EVENTS_MAX, conversation)
        chain = await connection.fetch(_CHAIN, *here, CHAIN_STEPS_MAX, CHAIN_NODES_MAX, conversation)
        usage = await connection.fetchrow(_USAGE, *here)
        embeddings = await connection.fetch(_EMBEDDING, *here, state.revision)
    return Life(
        state=state,
        head=Revision(**history.said(head)),
        revisions=tuple(Revision(**history.said(each)) for each in shown),
        attestations=tuple(Attestation(**history.said(each)) for each in attestations),
        events=tuple(history.event(each) for each in events),
        chain=tuple(_link(each) for each in chain),
        usage=None if usage is None else Usage(**usage),
        embeddings=tuple(Embedding(**each) for each in embeddings),
    )


async def locate(connection: asyncpg.Connection, view: View, memory_id: UUID, *, conversation: str | None) -> State:
    """Where a memory lives and how it stands. Raises MemoryNotFound, also for another's, as `life` does."""
    row = await connection.fetchrow(_LOCATE, view.tenant, view.project_id, memory_id, conversation)
    if row is None:
        raise MemoryNotFound(
            f"There is no memory {memory_id} here.",
            next="Look in the list of memories; one of a conversation is seen with that conversation named.",
        )
    values = dict(row) | {"status": Status(row["status"])}
    scope = await projects.resolve(connection, view.tenant, values.pop("project_id"))
    return State(scope=scope, **values)


def _link(row: asyncpg.Record) -> Link:
    return Link(**dict(row) | {"status": Status(row["status"]), "type": MemoryType(row["type"])})
