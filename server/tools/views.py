"""The parts of results that more than one tool shows; built from any object with the same fields."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, model_validator

from shared.domain import AuthorKind, MemoryType, Scope, Status

CONTENT_CHARACTERS_MAX = 1_200


class View(BaseModel):
    model_config = ConfigDict(from_attributes=True)


class _Cut(View):
    memory_id: UUID
    content: str | None
    truncated: bool = False

    @model_validator(mode="after")
    def _cut(self) -> _Cut:
        if self.content is not None and len(self.content) > CONTENT_CHARACTERS_MAX:
            self.content = self.content[:CONTENT_CHARACTERS_MAX]
            self.truncated = True
        return self


class _Memory(View):
    memory_id: UUID
    revision: int
    status: Status
    type: MemoryType
    scope: Scope
    category: str | None = None
    tags: tuple[str, ...] = ()
    importance: int | None = None
    expires_at: datetime | None = None
    expired: bool = False
    author_client: str
    author_kind: AuthorKind
    source: str | None = None
    created_at: datetime
    updated_at: datetime
    superseded_by: UUID | None = None


class MemoryView(_Cut, _Memory):
    """A memory as results show it; content is missing where it was purged."""


class WholeMemoryView(_Memory):
    """A memory as its resource shows it."""

    content: str | None


class HitView(_Cut):
    revision: int
    type: MemoryType
    tags: tuple[str, ...] = ()
    author_client: str
    created_at: datetime
    updated_at: datetime
    score: float | None = None
    why: dict[str, Any] | None = None


class SimilarView(_Cut):
    type: MemoryType
    score: float | None = None
    replaced_this: bool | None = None


class ObstacleView(View):
    memory_id: UUID
    status: Status
    superseded_by: UUID | None = None


class RevisionView(View):
    revision: int
    origin: str | None = None
    content: str | None
    type: MemoryType
    category: str | None = None
    tags: tuple[str, ...] = ()
    importance: int | None = None
    expires_at: datetime | None = None
    author_client: str
    author_kind: AuthorKind
    source: str | None = None
    reason: str | None = None
    valid_from: datetime
    valid_to: datetime | None = None
    purged_at: datetime | None = None


class AttestationView(View):
    revision: int
    author_client: str
    author_kind: AuthorKind
    type: MemoryType
    category: str | None = None
    tags: tuple[str, ...] = ()
    importance: int | None = None
    expires_at: datetime | None = None
    source: str | None = None
    created_at: datetime


class EventView(View):
    event: str
    revision: int | None = None
    client: str
    request_id: str | None = None
    details: dict[str, Any] | None = None
    created_at: datetime
