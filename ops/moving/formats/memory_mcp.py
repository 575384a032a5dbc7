"""What two servers named memory-mcp hold: isaacriehm's under paths of categories, outwarped's in environments."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from ops.moving.entries import Entry
from ops.moving.formats import loose
from ops.moving.lives import Place, Problem
from shared import limits
from shared.domain import MemoryType

_SOURCE = "memory-mcp"
# Written by itself about the rest.
_PRIMER = "reference.system.primer"
_PROJECTS = "projects"
_DECISIONS = frozenset({"decision", "decisions"})
# Its greatest: what is rather no expiry.
_TTL_DAYS_MAX = 36_500
_SALIENCE_UNSAID = 0.5


def entries(place: Place, value: Any) -> list[Entry | Problem]:
    match value:
        case {"category": str(category), "content": _} | {"category_path": str(category), "content": _}:
            return [] if category == _PRIMER else [_of_path(place, category, value)]
        case {"environment": str(), "kind": "message"}:
            return [Problem(place, "it is a message between agents and no memory", "note")]
        case {"environment": str(), "status": "proposed"}:
            return [Problem(place, "it was proposed there and not accepted", "note")]
        case {"environment": str(), "body": str()}:
            return [_of_environment(place, value)]
        case _:
            return [Problem(place, "it is no memory with a category or an environment")]


def origin(value: Any) -> str | None:
    """The project or environment, also of what is no memory or cannot be read."""
    match value:
        case {"category": str(category), "content": _} | {"category_path": str(category), "content": _}:
            return _origin(category)
        case {"environment": str(environment)}:
            return environment
        case _:
            return None


def _of_path(place: Place, category: str, told: dict[str, Any]) -> Entry:
    metadata = told.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    successor = told.get("successor_category")
    # What replaced it elsewhere, or itself, or was destroyed since, still ended it.
    follows = isinstance(successor, str) and _origin(successor) == _origin(category)
    return Entry(
        place=place,
        content=told["content"],
        key=told.get("id"),
        type=MemoryType.DECISION if _DECISIONS & set(category.split(".")) else MemoryType.FACT,
        category=loose.category(category),
        tags=loose.tags(metadata.get("tags")),
        created_at=told.get("created_at"),
        expires_at=None if told.get("retired_at") else _expiry(told, metadata.get("ttl_days")),
        source=_SOURCE,
        superseded_by=told.get("superseded_by") if follows else None,
        retired_at=told.get("retired_at"),
        keeps=True,
    )


def _origin(category: str) -> str:
    """The project, or what else the path begins with."""
    root, *rest = category.split(".")
    return rest[0] if root == _PROJECTS and rest else root


def _expiry(told: dict[str, Any], days: object) -> object:
    """It counts from the last time that the memory was written."""
    written = told.get("updated_at") or told.get("created_at")
    # Its callers write it as a text too.
    counted = int(days) if isinstance(days, str) and days.isdecimal() and len(days) < 6 else days
    if type(counted) is not int or not 0 < counted < _TTL_DAYS_MAX or not isinstance(written, str):
        return None
    return (datetime.fromisoformat(written) + timedelta(days=counted)).isoformat()


def _of_environment(place: Place, told: dict[str, Any]) -> Entry:
    author = told.get("author")
    return Entry(
        place=place,
        content=_text(told),
        key=told.get("id"),
        type=loose.type_of(told.get("kind")),
        category=loose.category(told.get("kind")),
        tags=loose.tags(told.get("tags")),
        importance=_importance(told.get("salience")),
        created_at=told.get("created_at"),
        expires_at=None if told.get("retired_at") else told.get("expires_at"),
        author=None if author is None else limits.client_name(author),
        source=_SOURCE,
        superseded_by=told.get("superseded_by"),
        retired_at=told.get("retired_at"),
        keeps=True,
    )


def _importance(salience: object) -> int | None:
    if not isinstance(salience, int | float) or salience == _SALIENCE_UNSAID:
        return None
    return round(min(max(salience, 0), 1) * 100)


def _text(told: dict[str, Any]) -> str:
    """Its title, text and steps, and why a decision was taken: all that its search shows of it."""
    title, body = told.get("title"), told["body"]
    parts = [title] if isinstance(title, str) and title.strip() and title not in body else []
    parts += [body] if body.strip() else []
    steps = told.get("steps")
    if isinstance(steps, list) and steps:
        parts.append("\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1)))
    decision = told.get("decision_meta")
    if isinstance(decision, dict):
        parts += [
            f"{name.capitalize()}: {'; '.join(map(str, said)) if isinstance(said, list) else said}"
            for name in ("rationale", "constraints", "consequences")
            if (said := decision.get(name))
        ]
    return "\n\n".join(parts)
