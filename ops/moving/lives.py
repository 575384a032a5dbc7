"""A memory on its way into the database: its life with all revisions, or why it cannot come."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from shared.domain import Status
from shared.memories import history
from shared.memories.history import Origin, Said
from shared.text.canonical import content_hash
from shared.text.normaliser import document_terms


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands in what is read: told to people, and `offset` leads back to its line."""

    told: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Words:
    """A content with what is derived from it."""

    content: str
    content_hash: bytes
    plain: str
    lexemes: str

    @classmethod
    def of(cls, content: str) -> Words:
        terms = document_terms(content)
        return cls(content, content_hash(content), terms.plain_text, " ".join(terms.lexemes))


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision(Said):
    """`words` is None when it was purged."""

    origin: Origin
    words: Words | None
    author_conversation: str | None
    reason: str | None
    valid_from: datetime
    valid_to: datetime | None
    purged_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attestation(history.Attestation):
    author_conversation: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """`details` is JSON text; `revision` is None for an event of a project."""

    event: str
    revision: int | None
    scope_key: str
    client: str
    request_id: str | None
    details: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """`keeps` says that it is worth keeping even if a live memory says the same already, `storied` that it said
    something else before, and `exact` that all that ever happened to it is told, with its own times: our own export."""

    place: Place
    project_id: UUID
    memory_id: UUID
    conversation: str | None
    status: Status
    created_at: datetime
    retired_at: datetime | None
    retired_by: Literal["client", "judge"] | None
    superseded_by: UUID | None
    revisions: tuple[Revision, ...]
    attestations: tuple[Attestation, ...]
    events: tuple[Event, ...]
    keeps: bool
    storied: bool
    exact: bool

    @property
    def head(self) -> Revision:
        return self.revisions[-1]

    @property
    def scope_key(self) -> str:
        return self.conversation or ""

    @property
    def key(self) -> tuple[UUID, UUID]:
        return self.project_id, self.memory_id

    @property
    def successor(self) -> tuple[UUID, UUID] | None:
        return None if self.superseded_by is None else (self.project_id, self.superseded_by)

    def newest(self) -> datetime:
        """The latest time that it tells of, besides expiries."""
        times = [self.created_at, self.retired_at]
        times += [at for said in self.revisions for at in (said.valid_from, said.valid_to, said.purged_at)]
        times += [said.created_at for said in self.attestations]
        times += [told.at for told in self.events]
        return max(at for at in times if at is not None)

    def is_live(self, now: datetime) -> bool:
        """True if it may be found from `now` on."""
        expires_at = self.head.expires_at
        alive = self.status is Status.ACTIVE and self.head.words is not None
        return alive and (expires_at is None or expires_at > now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Alias:
    kind: str
    value: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project as our export tells of it, and what was left out of that."""

    place: Place
    project_id: UUID
    tenant: str
    slug: str
    display_name: str | None
    created_at: datetime
    aliases: tuple[Alias, ...]
    events: tuple[Event, ...]
    left: tuple[Problem, ...] = ()

    def newest(self) -> datetime:
        """The latest time that it tells of."""
        times = [alias.created_at for alias in self.aliases] + [told.at for told in self.events]
        return max(self.created_at, *times) if times else self.created_at


@dataclass(frozen=True, slots=True)
class Problem:
    """What could not be imported: never the content, only its place."""

    place: Place
    reason: str
    kind: Literal["bad", "twice", "sensitive", "expired", "changed", "note"] = "bad"


Item = Life | Project | Problem
