"""The graded sets as data: memories and queries of their projects."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
TRANSFER = DATA / "transfer"
NOW = datetime.fromisoformat("2026-11-01T00:00:00+00:00")


@dataclass(frozen=True, slots=True)
class GradedMemory:
    id: str
    project: str
    type: str
    content: str
    tags: tuple[str, ...]
    category: str | None
    importance: int | None
    created_at: datetime
    supersedes: str | None


@dataclass(frozen=True, slots=True)
class GradedQuery:
    id: str
    project: str
    kind: str
    text: str
    grades: dict[str, int]
    split: str
    as_of: datetime | None
    elsewhere: frozenset[str] = field(default_factory=frozenset)


class GradedSet:
    """Everything in a folder of it; memories in the order in which they were written."""

    def __init__(self, folder: Path = DATA) -> None:
        self._folder = folder

    @cached_property
    def projects(self) -> list[str]:
        return sorted(file.stem for file in (self._folder / "memories").glob("*.jsonl"))

    @cached_property
    def memories(self) -> list[GradedMemory]:
        rows = [_memory(row) for row in self._read("memories")]
        return sorted(rows, key=lambda memory: (memory.created_at, memory.id))

    @cached_property
    def live_now(self) -> list[GradedMemory]:
        return [memory for memory in self.memories if memory.id not in self._retired_at]

    @cached_property
    def queries(self) -> list[GradedQuery]:
        return [_query(row) for row in self._read("queries")]

    @cached_property
    def _by_id(self) -> dict[str, GradedMemory]:
        return {memory.id: memory for memory in self.memories}

    @cached_property
    def _retired_at(self) -> dict[str, datetime]:
        return {memory.supersedes: memory.created_at for memory in self.memories if memory.supersedes}

    def project_of(self, memory_id: str) -> str:
        return self._by_id[memory_id].project

    def is_live(self, memory_id: str, query: GradedQuery) -> bool:
        at = query.as_of or NOW
        retired_at = self._retired_at.get(memory_id)
        return self._by_id[memory_id].created_at <= at and (retired_at is None or retired_at > at)

    def _read(self, what: str) -> list[dict[str, Any]]:
        files = [self._folder / what / f"{project}.jsonl" for project in self.projects]
        return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]


def _memory(row: dict[str, Any]) -> GradedMemory:
    return GradedMemory(
        id=row["id"],
        project=row["project"],
        type=row["type"],
        content=row["content"],
        tags=tuple(row["tags"]),
        category=row.get("category"),
        importance=row.get("importance"),
        created_at=datetime.fromisoformat(row["created_at"]),
        supersedes=row.get("supersedes"),
    )


def _query(row: dict[str, Any]) -> GradedQuery:
    as_of = row.get("as_of")
    return GradedQuery(
        id=row["id"],
        project=row["project"],
        kind=row["kind"],
        text=row["text"],
        grades=row["grades"],
        split=row["split"],
        as_of=None if as_of is None else datetime.fromisoformat(as_of),
        elsewhere=frozenset(row.get("elsewhere", ())),
    )
