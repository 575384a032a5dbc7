"""Exports and SQLite files of mcp-memory-service."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from typing import Any

from ops.moving.entries import Entry
from ops.moving.formats import loose
from ops.moving.lives import Place, Problem

# Those of its later releases may be missing.
_COLUMNS = (
    "content_hash", "content", "tags", "memory_type", "metadata", "created_at", "deleted_at", "store", "superseded_by",
)  # fmt: skip

# What it writes where nothing was said.
_NO_TAG = "untagged"
_NO_STORE = "default"


def entries(place: Place, value: Any) -> list[Entry | Problem]:
    """A memory that was superseded there is superseded here, by the memory of that hash; a deleted one is left out."""
    if not isinstance(value, dict) or "content" not in value:
        return [Problem(place, "it is no object with a content")]
    if value.get("deleted_at") is not None:
        return []
    key = value.get("content_hash")
    created_at = value.get("created_at")
    # The export tells of supersession in the metadata only.
    successor = value.get("superseded_by") or _metadata(value).get("superseded_by")
    return [
        Entry(
            place=place,
            content=value["content"],
            key=key if isinstance(key, str) else None,
            type=loose.type_of(value.get("memory_type")),
            category=loose.category(value.get("memory_type")),
            tags=_tags(value),
            created_at=value.get("created_at_iso") if created_at is None else created_at,
            source="mcp-memory-service",
            superseded_by=successor if isinstance(successor, str) else None,
            keeps=isinstance(key, str),
        )
    ]


def rows(database: sqlite3.Connection) -> Iterator[tuple[Place, dict[str, Any]]]:
    """The memories of its SQLite file, successors first, with the deleted ones. Raises sqlite3.Error."""
    told = database.execute("SELECT rowid, * FROM memories ORDER BY rowid DESC")
    columns = [name for name, *_ in told.description[1:]]
    for rowid, *values in told:
        yield (
            Place(f"row {rowid}"),
            {name: value for name, value in zip(columns, values, strict=True) if name in _COLUMNS},
        )


def _metadata(value: dict[str, Any]) -> dict[str, Any]:
    told = value.get("metadata")
    if isinstance(told, str):
        try:
            told = json.loads(told)
        except (ValueError, RecursionError):
            return {}
    return told if isinstance(told, dict) else {}


def _tags(value: dict[str, Any]) -> list[str]:
    store = value.get("store")
    tags = [tag for tag in loose.tags(value.get("tags")) if tag != _NO_TAG]
    return loose.tags([*tags, f"store:{store}"]) if isinstance(store, str) and store not in ("", _NO_STORE) else tags
