"""What a caller asks of a memory, after its arguments were checked against their bounds."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg
import orjson

from shared.domain import AuthorKind, MemoryType, Scope
from shared.errors import InvalidArgument

_TASK_EXPIRES = ("memory_revisions_task_expires", "live_memories_task_expires")


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
    acknowledged: str | None = None
    client_request_id: str | None = None


def fingerprint(request: Remember | Revise, *, conversation: str | None) -> bytes:
    """sha256 over the tool, its arguments and the conversation: what makes two requests the same request."""
    said: dict[str, Any] = asdict(request)
    del said["client_request_id"], said["acknowledged"]
    return hashlib.sha256(
        orjson.dumps([type(request).__name__, conversation, said], default=str, option=orjson.OPT_SORT_KEYS)
    ).digest()


@contextmanager
def task_expiry_told() -> Iterator[None]:
    """Turns the database's refusal of a TASK's expiry, judged by its own clock, into InvalidArgument."""
    try:
        yield
    except asyncpg.CheckViolationError as refused:
        if refused.constraint_name not in _TASK_EXPIRES:
            raise
        raise InvalidArgument(
            "expires_at",
            "a TASK always expires, at most 30 days from now",
            next="Give an instant within 30 days.",
        ) from None
