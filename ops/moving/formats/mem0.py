"""What mem0 gives out: get_all, its platform's exports, dumps of its vector stores, and its history database."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import date, timedelta
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from ops.moving.entries import Entry
from ops.moving.formats import loose
from ops.moving.lives import Place, Problem
from shared.domain import Status

_OWNERS = ("user", "agent", "app", "run")
_EVENTS = """
SELECT rowid, memory_id, new_memory, event, created_at, updated_at FROM history ORDER BY memory_id, rowid
"""


class _Event(NamedTuple):
    """One row of its history database."""

    row: int
    memory_id: str
    content: str | None
    event: str
    created_at: object
    updated_at: object


def entries(place: Place, value: Any) -> list[Entry | Problem]:
    match value:
        case {"events": list(events), "memory_id": str(memory_id)}:
            return _versions(memory_id, events)
        case dict():
            return [_memory(place, value)]
        case _:
            return [Problem(place, "it is no object")]


def rows(database: sqlite3.Connection) -> Iterator[tuple[Place, dict[str, Any]]]:
    """The events of each memory in its history database, together. Raises sqlite3.Error."""
    told = map(_Event._make, database.execute(_EVENTS))
    for memory_id, events in groupby(told, key=lambda event: event.memory_id):
        yield Place(f"memory {memory_id}"), {"memory_id": memory_id, "events": list(events)}


def _memory(place: Place, value: dict[str, Any]) -> Entry | Problem:
    payload = value.get("payload") or value.get("source_payload")
    known = (payload if isinstance(payload, dict) else {}) | {k: v for k, v in value.items() if v not in (None, "")}
    content = known.get("memory") or known.get("content") or known.get("data")
    if content is None:
        return Problem(place, "it has no memory")
    owners = [f"{owner}:{known[f'{owner}_id']}" for owner in _OWNERS if known.get(f"{owner}_id")]
    categories = known.get("categories")
    metadata = known.get("metadata")
    # A vector store holds what was given as metadata beside the rest.
    kind = metadata.get("type") if isinstance(metadata, dict) else known.get("type")
    return Entry(
        place=place,
        content=content,
        key=known.get("id"),
        type=loose.type_of(kind),
        category=loose.category(kind),
        tags=loose.tags([*(categories if isinstance(categories, list) else []), *owners]),
        created_at=known.get("created_at"),
        expires_at=_expiry(known.get("expiration_date")),
        source="mem0",
    )


def _versions(memory_id: str, events: list[_Event]) -> list[Entry | Problem]:
    """What a memory said one after another, the newest first: it keeps the key, and superseded those before it."""
    said = [event for event in events if event.content is not None]
    last = events[-1]
    ended = {"status": Status.DELETED, "retired_at": last.updated_at} if last.event == "DELETE" else {}
    heads = [_version(event, memory_id, place, **ended) for place, event in list(enumerate(said))[-1:]]
    earlier = [
        _version(
            event,
            f"{memory_id} {place}",
            place,
            superseded_by=memory_id if place + 2 == len(said) else f"{memory_id} {place + 1}",
            retired_at=successor.updated_at,
        )
        for place, (event, successor) in enumerate(pairwise(said))
    ]
    return [*heads, *reversed(earlier)]


def _version(event: _Event, key: str, place: int, **ended: Any) -> Entry:
    return Entry(
        place=Place(f"row {event.row}"),
        content=event.content,
        key=key,
        created_at=event.updated_at if place else event.created_at,
        source="mem0",
        keeps=True,
        storied=place > 0,
        **ended,
    )


def _expiry(value: object) -> object:
    """It counts whole days: what expires on a day is there until its end."""
    try:
        return (date.fromisoformat(str(value)) + timedelta(days=1)).isoformat() if value else None
    except (ValueError, OverflowError):
        return value
