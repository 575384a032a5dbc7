"""Bounds of the arguments that are times: instants with an offset, times to live, and how a TASK expires."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import MAXYEAR, UTC, datetime, timedelta

from shared.domain import MemoryType
from shared.errors import InvalidArgument
from shared.limits.values import whole

TASK_TTL_DAYS_DEFAULT = 7
TASK_TTL_DAYS_MAX = 30
TTL_DAYS_MAX = 3_650
NEVER = "never"

# What is stored lies between: outside, the driver and PostgreSQL make infinities of it, which no other program reads.
INSTANT_MIN = datetime(1970, 1, 1, tzinfo=UTC)
INSTANT_MAX = datetime(MAXYEAR, 12, 30, tzinfo=UTC)

_EXAMPLE = "2026-01-01T00:00:00Z"
_INSTANT_CHARACTERS_MAX = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Expiry:
    """When a memory ends: at an instant in UTC, a ttl after the database's clock, or never (both None)."""

    at: datetime | None = None
    ttl: timedelta | None = None


def expiry(*, expires_at: object, ttl_days: object, type: MemoryType, now: datetime) -> Expiry:
    """The expiry of a new memory; a TASK that names none lives seven days by the database's clock.

    An instant may have passed: that is judged where it is written.
    """
    if expires_at is not None and ttl_days is not None:
        raise InvalidArgument(
            "ttl_days", "cannot be given together with expires_at", next="Send one of the two, not both."
        )
    if ttl_days is not None:
        most = TASK_TTL_DAYS_MAX if type is MemoryType.TASK else TTL_DAYS_MAX
        return Expiry(ttl=timedelta(days=whole("ttl_days", ttl_days, least=1, most=most)))
    at = _storable(instant("expires_at", expires_at))
    if type is not MemoryType.TASK:
        return Expiry(at=at)
    if at is None:
        return Expiry(ttl=timedelta(days=TASK_TTL_DAYS_DEFAULT))
    return check_task_expiry(Expiry(at=at), now=now)


def revised_expiry(value: object) -> Expiry | None:
    """None leaves the expiry as it is; `never` is an Expiry without an end."""
    if value == NEVER:
        return Expiry()
    at = _storable(instant("expires_at", value, or_never=True))
    return None if at is None else Expiry(at=at)


def check_task_expiry(given: Expiry, *, now: datetime) -> Expiry:
    """The expiry itself, if it suits a TASK: some end, at most thirty days away."""
    end = now + given.ttl if given.ttl is not None else given.at
    if end is None or end > now + timedelta(days=TASK_TTL_DAYS_MAX):
        raise InvalidArgument(
            "expires_at",
            f"a TASK expires at most {TASK_TTL_DAYS_MAX} days from now",
            next="Send an earlier instant, or store what should stay as a DECISION, CONSTRAINT or FACT.",
        )
    return given


def instant(argument: str, value: object, *, or_never: bool = False) -> datetime | None:
    """An ISO 8601 instant with an offset, in UTC; None when left out."""
    if value is None:
        return None
    parsed = _parsed(value)
    if parsed is None:
        alternative = ' or "never"' if or_never else ""
        raise InvalidArgument(
            argument,
            f"must be an ISO 8601 instant with an offset{alternative}",
            next=f"Write it like {_EXAMPLE} or 2026-01-01T09:00:00+09:00.",
        )
    return parsed


def is_storable(at: datetime) -> bool:
    """Whether an instant that another system tells of lies in the range that is stored."""
    return INSTANT_MIN <= at <= INSTANT_MAX


def _parsed(value: object) -> datetime | None:
    if not isinstance(value, str) or len(value) > _INSTANT_CHARACTERS_MAX:
        return None
    try:
        given = datetime.fromisoformat(value.strip())
        return given.astimezone(UTC) if given.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


def _storable(at: datetime | None) -> datetime | None:
    # The last instants of datetime are infinity to the driver, and leave no room for another zone's offset.
    if at is not None and at.year >= MAXYEAR:
        raise InvalidArgument(
            "expires_at",
            f"must lie before the year {MAXYEAR}",
            next="Send an earlier instant, or leave expires_at out for a memory that never expires.",
        )
    return at
