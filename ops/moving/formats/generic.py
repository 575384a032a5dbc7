"""JSON Lines that any system can be written as: an object a line, of which only `content` is required.

{"id": "17", "content": "…", "type": "DECISION", "category": "…", "tags": ["…"], "importance": 50,
 "created_at": "2026-01-01T00:00:00Z", "expires_at": null, "author": "…", "source": "…",
 "status": "ACTIVE", "superseded_by": "23", "retired_at": "2026-02-01T00:00:00Z", "conversation": null}
"""

from __future__ import annotations

from typing import Any

from ops.moving.entries import Entry
from ops.moving.lives import Place, Problem

FIELDS = frozenset(
    {
        "id", "content", "type", "category", "tags", "importance", "created_at", "expires_at", "author", "author_kind",
        "source", "status", "superseded_by", "retired_at", "conversation",
    }
)  # fmt: skip


def entries(place: Place, value: Any) -> list[Entry | Problem]:
    if not isinstance(value, dict):
        return [Problem(place, "it is no object with a content")]
    unknown = sorted(value.keys() - FIELDS)
    told = f"unknown fields: {', '.join(unknown)[:200]}" if unknown else ""
    if value.get("content") is None:
        return [Problem(place, f"it has no content{told and f'; {told}'}")]
    if unknown:
        return [Problem(place, told)]
    known = {name: value[name] for name in FIELDS - {"id"} if value.get(name) is not None}
    key = value.get("id")
    # One that others may name as their successor stays, even beside a live memory that says the same.
    return [Entry(place=place, key=key, keeps=key is not None, **known)]
