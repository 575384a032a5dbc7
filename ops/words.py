"""Numbers with their nouns, as people read them."""

from __future__ import annotations


def counted(count: int, one: str, many: str | None = None) -> str:
    """`1 memory`, `2,000 memories`; `many` is `one` with an s unless it is given."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def memories(count: int) -> str:
    return counted(count, "memory", "memories")
