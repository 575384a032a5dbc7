"""What mem0 gives out: get_all, its platform's exports, and dumps of its vector stores."""

from __future__ import annotations

from typing import Any

from ops.moving.entries import Entry
from ops.moving.formats import loose
from ops.moving.lives import Place, Problem

_OWNERS = ("user", "agent", "app", "run")


def entries(place: Place, value: Any) -> list[Entry | Problem]:
    if not isinstance(value, dict):
        return [Problem(place, "it is no object")]
    payload = value.get("payload") or value.get("source_payload")
    known = (payload if isinstance(payload, dict) else {}) | {k: v for k, v in value.items() if v not in (None, "")}
    content = known.get("memory") or known.get("content") or known.get("data")
    if content is None:
        return [Problem(place, "it has no memory")]
    owners = [f"{owner}:{known[f'{owner}_id']}" for owner in _OWNERS if known.get(f"{owner}_id")]
    categories = known.get("categories")
    metadata = known.get("metadata")
    kind = metadata.get("type") if isinstance(metadata, dict) else None
    return [
        Entry(
            place=place,
            content=content,
            key=None if known.get("id") is None else str(known["id"]),
            type=loose.type_of(kind),
            category=loose.category(kind),
            tags=loose.tags([*(categories if isinstance(categories, list) else []), *owners]),
            created_at=known.get("created_at"),
            source="mem0",
        )
    ]
