"""Cursors of browsing: where a page ended, bound to the project and the filters that it was made for."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import asyncpg
import orjson

from shared.domain import ProjectScope
from shared.errors import InvalidArgument
from shared.retrieval.requests import Search


@dataclass(frozen=True, slots=True)
class Position:
    """The last row shown, in the order newest `created_at` first, then by id."""

    created_at: datetime
    memory_id: UUID


def encode(last: asyncpg.Record, scope: ProjectScope, request: Search) -> str:
    told = [last["created_at"].isoformat(), str(last["memory_id"]), _filters(scope, request)]
    return packed(told)


def decode(cursor: str | None, scope: ProjectScope, request: Search) -> Position | None:
    """The position that a cursor tells; raises InvalidArgument for one that is not of this browsing."""
    if cursor is None:
        return None
    try:
        created_at, memory_id, filters = unpacked(cursor)
        position = Position(created_at=datetime.fromisoformat(created_at).astimezone(UTC), memory_id=UUID(memory_id))
    except (ValueError, TypeError, AttributeError, OverflowError):
        raise _refused("is not a cursor of memory_search") from None
    if filters != _filters(scope, request):
        raise _refused("belongs to a search with another project or other filters")
    return position


def packed(told: list[str]) -> str:
    return base64.urlsafe_b64encode(orjson.dumps(told)).decode().rstrip("=")


def unpacked(cursor: str) -> Any:
    """What was packed; raises ValueError for what is no cursor at all."""
    return orjson.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))


def _filters(scope: ProjectScope, request: Search) -> str:
    told = [
        str(scope.project_id),
        sorted(request.types or ()),
        sorted(request.tags),
        request.match_all_tags,
        request.as_of,
    ]
    return hashlib.sha256(orjson.dumps(told)).hexdigest()[:16]


def _refused(problem: str) -> InvalidArgument:
    return InvalidArgument(
        "cursor", problem, next="Pass next_cursor of the page before with the same filters, or leave it out."
    )
