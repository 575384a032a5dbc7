"""What a visitor may see, and a place in a list that is paged by key."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Self, TypeVar
from uuid import UUID

import orjson

from shared.errors import InvalidArgument

COUNTED_MAX = 10_000
"""Counting what a filter leaves costs as much as reading it."""

COUNTED_UNFILTERED_MAX = 1_000_000

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class View:
    """A tenant, and the one project of it that the visitor is bound to, if any."""

    tenant: str
    project_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Position:
    """The last row of a page, in an order by time, the latest first, then by id."""

    at: datetime
    memory_id: UUID

    @classmethod
    def decode(cls, told: str | None) -> Self | None:
        """Raises InvalidArgument for what `encode` did not make."""
        if not told:
            return None
        try:
            at, memory_id = orjson.loads(base64.urlsafe_b64decode(told + "=" * (-len(told) % 4)))
            position = cls(at=datetime.fromisoformat(at), memory_id=UUID(memory_id))
        except (binascii.Error, ValueError, TypeError, AttributeError):
            position = None
        if position is None or position.at.tzinfo is None:
            raise InvalidArgument("after", "is not a place in this list", next="Start again at the newest.")
        return position

    def encode(self) -> str:
        told = orjson.dumps([self.at.isoformat(), str(self.memory_id)])
        return base64.urlsafe_b64encode(told).decode().rstrip("=")


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """Rows of one page of `total`, or of more where that `is_least`; `after` is where the next page begins."""

    rows: tuple[Row, ...]
    total: int
    is_least: bool
    after: str | None
