"""The parts of results that more than one tool shows; built from any object with the same fields."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator

from shared.domain import AuthorKind, MemoryType, Scope, Status

CONTENT_CHARACTERS_MAX = 1_200

Word = BeforeValidator(str)
"""Before a Literal: a service may answer with the member of a StrEnum."""


class View(BaseModel):
    model_config = ConfigDict(from_attributes=True)


class _Cut(View):
    content: str
    truncated: bool = False

    @model_validator(mode="after")
    def _cut(self) -> _Cut:
        if len(self.content) > CONTENT_CHARACTERS_MAX:
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
    author_client: str
    author_kind: AuthorKind
    source: str | None = None
    created_at: datetime
    updated_at: datetime


class MemoryView(_Memory, _Cut):
    """A memory as results show it."""


class MemoryFullView(_Memory):
    """A memory as its resource shows it."""

    content: str


class HitView(_Cut):
    memory_id: UUID
    revision: int
    type: MemoryType
    tags: tuple[str, ...] = ()
    author_client: str
    created_at: datetime
    updated_at: datetime
    score: float | None = None
    why: dict[str, Any] | None = None


class SimilarView(_Cut):
    memory_id: UUID
    type: MemoryType
    score: float | None = None


class TargetView(View):
    memory_id: UUID
    status: Annotated[str, Word]
    superseded_by: UUID | None = None


class RevisionView(View):
    revision: int
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


class AttestationView(View):
    author_client: str
    attested_at: datetime
    type: MemoryType | None = None
    tags: tuple[str, ...] = ()
    expires_at: datetime | None = None


class AuditView(View):
    event: Annotated[str, Word]
    author_client: str
    happened_at: datetime
    reason: str | None = None
