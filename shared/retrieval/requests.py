"""What a search or a context asks, and what a search answers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal
from uuid import UUID

from shared.domain import MemoryType

if TYPE_CHECKING:
    from shared.retrieval.meaning import Meaning
    from shared.retrieval.terms import Asked


class Mode(StrEnum):
    """How much of what is less than the best is shown."""

    PRECISION = "precision"
    BALANCED = "balanced"
    EXPLORATORY = "exploratory"


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """No query browses, newest first; `cursor` continues such a page; `as_of` asks what was live at that instant."""

    query: str | None = None
    types: tuple[MemoryType, ...] | None = None
    tags: tuple[str, ...] = ()
    match_all_tags: bool = False
    limit: int = 5
    mode: Mode = Mode.BALANCED
    as_of: datetime | None = None
    cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRequest:
    """Without a query the candidates are what is most worth knowing of each type."""

    query: str | None = None
    token_budget: int = 2_000
    types: tuple[MemoryType, ...] | None = None


@dataclass(frozen=True, slots=True)
class Understood:
    """A query before it is answered: its vector, and its words that were looked up meanwhile, None without a query."""

    meaning: Meaning
    asked: Asked | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A memory that was found: `score` in 0..1 with its parts in `why`, both None where nothing was asked."""

    memory_id: UUID
    revision: int
    type: MemoryType
    content: str
    tags: tuple[str, ...]
    author_client: str
    created_at: datetime
    updated_at: datetime
    score: float | None = None
    why: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The answer of a search; `semantic_coverage` is the share of the live set that has vectors, in 0..1."""

    results: tuple[Hit, ...]
    confidence: Literal["high", "medium", "low"]
    guidance: str
    semantic_coverage: float
    degraded: str | None = None
    next_cursor: str | None = None
