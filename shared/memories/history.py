"""The whole life of one memory, retired or not: revisions, attestations, chain and audit events."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import asyncpg
import orjson

from shared import statements
from shared.domain import Author, AuthorKind, MemoryType, ProjectScope, Scope, Status
from shared.memories.refusals import not_found

REVISIONS_MAX = 1_000
CONTENT_BYTES_MAX = 1024 * 1024
ATTESTATIONS_MAX = 200
EVENTS_MAX = 500

_SQL = statements.load("memories")
_LIFECYCLE = _SQL["lifecycle"]
_REVISIONS = _SQL["revisions"]
_ATTESTATIONS = _SQL["attestations"]
_AUDIT_EVENTS = _SQL["audit_events"]
_PREDECESSORS = _SQL["predecessors"]


Origin = Literal["remember", "revise", "restore", "import"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a client gave beside the content, and who it is."""

    revision: int
    type: MemoryType
    category: str | None
    tags: tuple[str, ...]
    importance: int | None
    expires_at: datetime | None
    author_client: str
    author_kind: AuthorKind
    source: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision(Said):
    """What was said from `valid_from` on; `content` is None when it was purged."""

    origin: Origin
    content: str | None
    reason: str | None
    valid_from: datetime
    valid_to: datetime | None
    purged_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attestation(Said):
    """A client that said it, with the type, tags and expiry that it gave."""

    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEvent:
    event: str
    revision: int | None
    client: str
    request_id: str | None
    details: dict[str, Any]
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What fits into one answer: attestations are the first ATTESTATIONS_MAX, events the last EVENTS_MAX.

    `revisions` are the newest, up to REVISIONS_MAX and to the one that passes CONTENT_BYTES_MAX; `earlier_revisions`
    is how many were before them, None for none.
    """

    memory_id: UUID
    status: Status
    scope: Scope
    created_at: datetime
    retired_at: datetime | None
    retired_by: Literal["client", "judge"] | None
    superseded_by: UUID | None
    supersedes: tuple[UUID, ...]
    revisions: tuple[Revision, ...]
    earlier_revisions: int | None
    attestations: tuple[Attestation, ...]
    events: tuple[AuditEvent, ...]


async def history(
    connection: asyncpg.Connection,
    scope: ProjectScope,
    author: Author,
    memory_id: UUID,
    *,
    before_revision: int | None = None,
) -> History:
    """The history of a memory that this caller may see, all read at one instant; its newest revisions, or those before.

    Raises MemoryNotFound, also for another project's and another conversation's memory.
    """
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        life = await connection.fetchrow(_LIFECYCLE, scope.project_id, memory_id, author.conversation)
        if life is None:
            raise not_found(scope, memory_id)
        revisions = await connection.fetch(
            _REVISIONS, scope.project_id, memory_id, before_revision, REVISIONS_MAX, CONTENT_BYTES_MAX
        )
        attestations = await connection.fetch(_ATTESTATIONS, scope.project_id, memory_id, ATTESTATIONS_MAX)
        events = await connection.fetch(_AUDIT_EVENTS, scope.project_id, memory_id, EVENTS_MAX, author.conversation)
        predecessors = await connection.fetch(_PREDECESSORS, scope.project_id, memory_id, author.conversation)
    return History(
        memory_id=memory_id,
        status=Status(life["status"]),
        scope=Scope.PROJECT if life["conversation"] is None else Scope.CONVERSATION,
        created_at=life["created_at"],
        retired_at=life["retired_at"],
        retired_by=life["retired_by"],
        superseded_by=life["superseded_by"],
        supersedes=tuple(row["id"] for row in predecessors),
        revisions=tuple(Revision(**said(row)) for row in revisions),
        earlier_revisions=revisions[0]["revision"] - 1 or None if revisions else None,
        attestations=tuple(Attestation(**said(row)) for row in attestations),
        events=tuple(event(row) for row in events),
    )


def said(row: asyncpg.Record) -> dict[str, Any]:
    """The columns of a revision or an attestation, in the types of the domain."""
    kinds = {"type": MemoryType(row["type"]), "author_kind": AuthorKind(row["author_kind"])}
    return dict(row) | kinds | {"tags": tuple(row["tags"])}


def event(row: asyncpg.Record) -> AuditEvent:
    return AuditEvent(**dict(row) | {"details": orjson.loads(row["details"])})
