from datetime import UTC, datetime, timedelta

import pytest

from shared import limits
from shared.domain import MemoryType
from shared.errors import InvalidArgument
from shared.limits import Expiry

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SOON = "2026-03-05T00:00:00Z"


def new(type: MemoryType, *, expires_at: object = None, ttl_days: object = None) -> Expiry:
    return limits.expiry(expires_at=expires_at, ttl_days=ttl_days, type=type, now=NOW)


@pytest.mark.parametrize(
    "value",
    [
        "2026-03-05T00:00:00Z",
        "2026-03-05T00:00:00+00:00",
        "2026-03-05T09:00:00.000+09:00",
        "20260305T000000Z",
    ],
)
def test_an_instant_with_an_offset_is_read_as_utc(value: str) -> None:
    assert limits.instant("as_of", value) == datetime(2026, 3, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    "value",
    [
        "2026-03-05T00:00:00",
        "2026-03-05",
        "",
        "tomorrow",
        "never",
        "2026-02-30T00:00:00Z",
        1772323200,
        True,
        "9999-12-31T23:59:59-12:00",
        "0001-01-01T00:00:00+12:00",
        "2026-03-05T00:00:00Z" + " " * 99,
        "\0",
    ],
)
def test_an_instant_without_an_offset_or_of_another_form_is_refused(value: object) -> None:
    with pytest.raises(InvalidArgument, match=r"^as_of: must be an ISO 8601 instant with an offset"):
        limits.instant("as_of", value)


def test_what_names_no_end_never_expires_unless_it_is_a_task() -> None:
    assert new(MemoryType.FACT) == Expiry()
    assert new(MemoryType.TASK) == Expiry(ttl=timedelta(days=7))


def test_a_time_to_live_stays_a_duration_for_the_databases_clock() -> None:
    assert new(MemoryType.FACT, ttl_days=3_650) == Expiry(ttl=timedelta(days=3_650))
    assert new(MemoryType.TASK, ttl_days=30) == Expiry(ttl=timedelta(days=30))


@pytest.mark.parametrize(
    ("type", "ttl_days"),
    [
        (MemoryType.FACT, 0),
        (MemoryType.FACT, 3_651),
        (MemoryType.TASK, 31),
        (MemoryType.TASK, 0),
        (MemoryType.FACT, True),
        (MemoryType.FACT, "7"),
        (MemoryType.FACT, 1.5),
        (MemoryType.FACT, -1),
    ],
)
def test_a_time_to_live_outside_its_bound_is_refused(type: MemoryType, ttl_days: object) -> None:
    with pytest.raises(InvalidArgument, match=r"^ttl_days: must be a whole number from 1 to"):
        new(type, ttl_days=ttl_days)


def test_two_ways_to_say_the_end_are_one_too_many() -> None:
    with pytest.raises(InvalidArgument, match=r"^ttl_days: cannot be given together with expires_at"):
        new(MemoryType.FACT, expires_at=SOON, ttl_days=3)


def test_whether_an_end_has_passed_is_left_to_the_clock_of_the_database() -> None:
    assert new(MemoryType.FACT, expires_at="2025-01-01T00:00:00Z").at == datetime(2025, 1, 1, tzinfo=UTC)


def test_a_task_ends_within_thirty_days() -> None:
    assert new(MemoryType.TASK, expires_at="2026-03-31T12:00:00Z").at == NOW + timedelta(days=30)
    with pytest.raises(InvalidArgument, match=r"^expires_at: a TASK expires at most 30 days"):
        new(MemoryType.TASK, expires_at="2026-03-31T12:00:01Z")


def test_never_is_for_revise_only() -> None:
    assert limits.revised_expiry("never") == Expiry()
    with pytest.raises(InvalidArgument, match=r"^expires_at: "):
        new(MemoryType.FACT, expires_at="never")


def test_a_revise_without_an_end_leaves_it() -> None:
    assert limits.revised_expiry(None) is None
    assert limits.revised_expiry(SOON) == Expiry(at=datetime(2026, 3, 5, tzinfo=UTC))
    with pytest.raises(InvalidArgument, match=r'^expires_at: .* or "never"$'):
        limits.revised_expiry("Never")


def test_a_task_cannot_be_revised_to_last() -> None:
    fits = Expiry(ttl=timedelta(days=30))
    assert limits.check_task_expiry(fits, now=NOW) is fits
    for lasting in (Expiry(), Expiry(at=NOW + timedelta(days=31)), Expiry(ttl=timedelta(days=31))):
        with pytest.raises(InvalidArgument, match=r"^expires_at: a TASK expires"):
            limits.check_task_expiry(lasting, now=NOW)
