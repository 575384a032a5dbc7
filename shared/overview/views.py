"""What a visitor may see, and a page of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar
from uuid import UUID

from shared.paging import Pages

COUNTED_MAX = 10_000
"""Counting what a filter leaves costs as much as reading it."""

COUNTED_UNFILTERED_MAX = 1_000_000

PAGES = Pages(
    argument="after",
    unreadable="is not a place in this list",
    of_another="is a place in another list",
    next="Start again at the newest.",
)

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class View:
    """A tenant, and the one project of it that the visitor is bound to, if any."""

    tenant: str
    project_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """Rows of one page of `total`, or of more where that `is_least`; `after` is where the next page begins."""

    rows: tuple[Row, ...]
    total: int
    is_least: bool
    after: str | None
