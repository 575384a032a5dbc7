"""The words of the domain: types, statuses, outcomes and the frozen records that services return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal
from uuid import UUID

AliasKind = Literal["git_remote", "workspace_path"]
Aliases = Mapping[AliasKind, str]


class MemoryType(StrEnum):
    DECISION = "DECISION"
    CONSTRAINT = "CONSTRAINT"
    FACT = "FACT"
    TASK = "TASK"


class Status(StrEnum):
    ACTIVE = "ACTIVE"
    SUPERSEDED = "SUPERSEDED"
    DELETED = "DELETED"


class Scope(StrEnum):
    PROJECT = "project"
    CONVERSATION = "conversation"


class AuthorKind(StrEnum):
    AGENT = "agent"
    HUMAN_CONFIRMED = "human_confirmed"
    IMPORT = "import"


@dataclass(frozen=True, slots=True)
class Author:
    """Who speaks: client name, conversation (None outside one), the request that a log line names and its trace."""

    client: str
    conversation: str | None = None
    request_id: str | None = None
    traceparent: str | None = None


DEFAULT_SLUG = "default"
"""Where calls over HTTP go that name no project."""
LOCAL_TENANT = "local"
"""The tenant where MEMHUB_TENANT names none."""


@dataclass(frozen=True, slots=True)
class ProjectScope:
    """A project that its tenant was shown to own; only shared.projects makes one."""

    tenant: str
    project_id: UUID
    slug: str
    display_name: str | None


@dataclass(frozen=True, slots=True)
class Used:
    """The project that a call of project_use led to, and whether it made it.

    `others` are the repositories and folders of other work, as far as the names given tell, that lead to it too.
    """

    outcome: Literal["resolved", "created"]
    project: ProjectScope
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Memory:
    """One revision of one memory, with the lifecycle status of now; `content` is None when it was purged."""

    memory_id: UUID
    revision: int
    status: Status
    type: MemoryType
    scope: Scope
    content: str | None
    category: str | None
    tags: tuple[str, ...]
    importance: int | None
    expires_at: datetime | None
    expired: bool
    author_client: str
    author_kind: AuthorKind
    source: str | None
    created_at: datetime
    updated_at: datetime
    superseded_by: UUID | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """An event of the audit; `conversation` is the one that may see its memory, None for all of the project's.

    `former` is the slug that the event took off its project.
    """

    tenant: str
    project_id: UUID | None
    slug: str | None
    memory_id: UUID | None
    conversation: str | None
    event: str
    former: str | None = None


@dataclass(frozen=True, slots=True)
class Changes:
    """What became visible up to `snapshot`. Where it `overflowed`, anything may have changed."""

    snapshot: str
    changes: tuple[Change, ...]
    overflowed: bool
