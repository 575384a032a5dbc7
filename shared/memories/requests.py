"""What a caller asks of a memory, after its arguments were checked against their bounds."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

import orjson

from shared.domain import AuthorKind, MemoryType, Scope

_NOT_SAID = ("client_request_id", "acknowledged")


@dataclass(frozen=True, slots=True, kw_only=True)
class Remember:
    """`expires_at` and `ttl_days` exclude each other; `acknowledged` names the detector that was overridden."""

    content: str
    type: MemoryType = MemoryType.FACT
    category: str | None = None
    tags: tuple[str, ...] = ()
    importance: int | None = None
    expires_at: datetime | None = None
    ttl_days: float | None = None
    supersedes: tuple[UUID, ...] = ()
    scope: Scope = Scope.PROJECT
    source: str | None = None
    author_kind: AuthorKind = AuthorKind.AGENT
    acknowledged: str | None = None
    client_request_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Revise:
    """None leaves a field as it is; empty tags clear them, `never_expires` clears the expiry."""

    memory_id: UUID
    expected_revision: int
    content: str
    tags: tuple[str, ...] | None = None
    importance: int | None = None
    expires_at: datetime | None = None
    never_expires: bool = False
    reason: str | None = None
    client_request_id: str | None = None


class ConflictState(StrEnum):
    RESOLVED = "resolved"
    OPEN = "open"


def fingerprint(request: Remember | Revise, *, conversation: str | None) -> bytes:
    """sha256 over the tool, its arguments and the conversation: what makes two requests the same request."""
    said = {name: value for name, value in asdict(request).items() if name not in _NOT_SAID}
    return hashlib.sha256(
        orjson.dumps([type(request).__name__, conversation, said], default=str, option=orjson.OPT_SORT_KEYS)
    ).digest()
