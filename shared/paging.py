"""Where a page of a list ended: the one kind of cursor, of the tools and of the dashboard."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

import orjson

from shared.errors import InvalidArgument


@dataclass(frozen=True, slots=True)
class Position:
    """The last row of a page, in an order by time, the latest first, then by id."""

    at: datetime
    memory_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    """The pages of one kind of list: which argument brings their cursors, and what is said of one that does not fit."""

    argument: str
    unreadable: str
    of_another: str
    next: str

    def encode(self, position: Position, *, of: str = "") -> str:
        """`of` names the list: its cursor opens no other."""
        cursor = orjson.dumps([position.at.isoformat(), str(position.memory_id), of])
        return base64.urlsafe_b64encode(cursor).decode().rstrip("=")

    def decode(self, cursor: str | None, *, of: str = "") -> Position | None:
        """None without a cursor. Raises InvalidArgument for one that `encode` did not make for this list."""
        if not cursor:
            return None
        try:
            at, memory_id, made_for = orjson.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
            told = datetime.fromisoformat(at)
            # An instant that is no instant in UTC is none for the database either.
            position = Position(told.astimezone(UTC), UUID(memory_id))
        except (ValueError, TypeError, AttributeError, OverflowError):
            raise self._refused(self.unreadable) from None
        if told.tzinfo is None:
            raise self._refused(self.unreadable)
        if made_for != of:
            raise self._refused(self.of_another)
        return position

    def _refused(self, problem: str) -> InvalidArgument:
        return InvalidArgument(self.argument, problem, next=self.next)
