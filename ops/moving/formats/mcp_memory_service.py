"""Exports and SQLite files of mcp-memory-service."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from ops.moving.entries import Entry
from ops.moving.formats import loose
from ops.moving.lives import Place, Problem

_COLUMNS = ("content_hash", "content", "tags", "memory_type", "created_at", "deleted_at")
_TABLE = "SELECT name FROM pragma_table_info('memories')"


def entries(place: Place, value: Any) -> list[Entry | Problem]:
    if not isinstance(value, dict) or "content" not in value:
        return [Problem(place, "it is no object with a content")]
    key = value.get("content_hash")
    created_at = value.get("created_at")
    return [
        Entry(
            place=place,
            content=value["content"],
            key=key if isinstance(key, str) else None,
            type=loose.type_of(value.get("memory_type")),
            category=loose.category(value.get("memory_type")),
            tags=loose.tags(value.get("tags")),
            created_at=value.get("created_at_iso") if created_at is None else created_at,
            source="mcp-memory-service",
        )
    ]


def rows(path: Path) -> Iterator[tuple[Place, dict[str, Any]]]:
    """The memories of its SQLite file, read only; the deleted ones are left out. Raises sqlite3.Error."""
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
        there = {name for (name,) in database.execute(_TABLE)}
        columns = [column for column in _COLUMNS if column in there]
        statement = f"SELECT rowid, {', '.join(columns)} FROM memories ORDER BY rowid"  # noqa: S608 - names of ours
        for rowid, *values in database.execute(statement):
            row = dict(zip(columns, values, strict=True))
            if row.pop("deleted_at", None) is None:
                yield Place(f"row {rowid}"), row
