"""Fields of other systems that have no bounds there: cut and sorted to what memhub holds, never a reason to refuse."""

from __future__ import annotations

from collections.abc import Iterable

from shared.domain import MemoryType
from shared.limits import CATEGORY_BYTES_MAX, TAG_BYTES_MAX, TAGS_MAX

_TYPES = {
    "decision": MemoryType.DECISION,
    "constraint": MemoryType.CONSTRAINT,
    "rule": MemoryType.CONSTRAINT,
    "convention": MemoryType.CONSTRAINT,
}


def type_of(value: object) -> MemoryType:
    """A task of another system has no end that could be kept, so it is a FACT."""
    return _TYPES.get(value.strip().lower(), MemoryType.FACT) if isinstance(value, str) else MemoryType.FACT


def category(value: object) -> str | None:
    return cut(value, CATEGORY_BYTES_MAX)


def tags(value: object) -> list[str]:
    """From a list, or from one text with commas."""
    given: Iterable[object] = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else ()
    cut = [_cut(tag, TAG_BYTES_MAX) for tag in given if isinstance(tag, str)]
    return list(dict.fromkeys(tag for tag in cut if tag))[:TAGS_MAX]


def cut(value: object, bytes_max: int) -> str | None:
    """As much of a text as has room, in one line."""
    return _cut(value, bytes_max) if isinstance(value, str) else None


def shortened(value: str | None, bytes_max: int) -> str | None:
    """As much of a text as has room, as it is."""
    return None if value is None else value.encode()[:bytes_max].decode(errors="ignore")


def _cut(value: str, bytes_max: int) -> str:
    # Whatever is no space and not printable goes: a tag in memhub is one line.
    printable = "".join(character if character.isprintable() else " " for character in value)
    return " ".join(printable.split()).encode()[:bytes_max].decode(errors="ignore").strip()
