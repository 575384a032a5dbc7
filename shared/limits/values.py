"""Bounds of the arguments that are numbers, flags, choices and ids of memories."""

from __future__ import annotations

from contextlib import suppress
from enum import StrEnum
from typing import TypeVar
from uuid import UUID

from shared.domain import MemoryType
from shared.environment import UUID_PATTERN
from shared.errors import InvalidArgument

LIMIT_MAX = 100
IMPORTANCE_MAX = 100
REVISION_MAX = 2_147_483_647
SUPERSEDES_MAX = 50
TOKEN_BUDGET_MIN = 100
TOKEN_BUDGET_MAX = 32_000

Choice = TypeVar("Choice", bound=StrEnum)


def importance(value: object) -> int | None:
    return None if value is None else whole("importance", value, least=0, most=IMPORTANCE_MAX)


def limit(value: object, *, most: int = LIMIT_MAX) -> int | None:
    return None if value is None else whole("limit", value, least=1, most=most)


def token_budget(value: object) -> int | None:
    if value is None:
        return None
    return whole("token_budget", value, least=TOKEN_BUDGET_MIN, most=TOKEN_BUDGET_MAX)


def expected_revision(value: object) -> int:
    return whole("expected_revision", value, least=1, most=REVISION_MAX)


def before_revision(value: object) -> int:
    return whole("before_revision", value, least=2, most=REVISION_MAX)


def memory_id(value: object, argument: str = "memory_id") -> UUID:
    if not isinstance(value, str) or not UUID_PATTERN.fullmatch(value):
        raise InvalidArgument(
            argument,
            "must be the id of a memory: a UUID of 36 characters",
            next="Take the id from a result of memory_search or memory_remember.",
        )
    return UUID(value)


def memory_ids(value: object, argument: str = "supersedes") -> tuple[UUID, ...]:
    """In the order given, without duplicates; () when left out."""
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        raise InvalidArgument(argument, "must be a list of ids", next='Write it as ["<id>"].')
    distinct = tuple(dict.fromkeys(memory_id(item, f"{argument}[{place}]") for place, item in enumerate(value)))
    if len(distinct) > SUPERSEDES_MAX:
        raise InvalidArgument(
            argument,
            f"names {len(distinct)} memories, at most {SUPERSEDES_MAX} are allowed",
            next="Split the request.",
        )
    return distinct


def types(value: object) -> tuple[MemoryType, ...] | None:
    """None when left out or empty: no filter."""
    if value is None:
        return None
    if not isinstance(value, list | tuple):
        raise InvalidArgument("types", "must be a list of types", next='Write it as ["DECISION"].')
    return tuple(dict.fromkeys(choice("types", item, MemoryType) for item in value)) or None


def choice(argument: str, value: object, choices: type[Choice]) -> Choice:
    if isinstance(value, str):
        with suppress(ValueError):
            return choices(value)
    allowed = ", ".join(member.value for member in choices)
    raise InvalidArgument(argument, f"must be one of {allowed}", next="Use one of these, spelled exactly so.")


def flag(argument: str, value: object, *, default: bool) -> bool:
    if value is None:
        return default
    if not isinstance(value, bool):
        raise InvalidArgument(argument, "must be true or false", next="Send a JSON boolean.")
    return value


def whole(argument: str, value: object, *, least: int, most: int) -> int:
    """An int of the range; JSON's 5.0 is a whole number, true is none."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidArgument(
            argument,
            f"must be a whole number from {least} to {most}",
            next=f"Send a number from {least} to {most}.",
        )
    return value
