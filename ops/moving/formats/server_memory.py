"""The knowledge graph of @modelcontextprotocol/server-memory: entities with observations, and relations."""

from __future__ import annotations

from typing import Any

from ops.moving.entries import Entry
from ops.moving.lives import Place, Problem
from shared.limits import CATEGORY_BYTES_MAX, TAG_BYTES_MAX


def entries(place: Place, value: Any) -> list[Entry | Problem]:
    """A memory for each observation and each relation; an entity that says nothing but its type is one too."""
    match value:
        case {"name": str(name), "entityType": str(kind), "observations": list(observations)}:
            return _entity(place, name, kind, observations)
        case {"from": str(subject), "to": str(target), "relationType": str(verb)}:
            return [_entry(place, f"{subject} {verb} {target}", tags=[subject, target], category="relation")]
        case _:
            return [Problem(place, "it is neither an entity nor a relation")]


def _entity(place: Place, name: str, kind: str, observations: list[Any]) -> list[Entry | Problem]:
    if not observations:
        return [_entry(place, f"{name}: {kind}", tags=[name], category=kind)]
    return [
        _entry(place, f"{name} ({kind}): {observation}", tags=[name], category=kind)
        if isinstance(observation, str)
        else Problem(place, "an observation is no text")
        for observation in observations
    ]


def _entry(place: Place, content: str, *, tags: list[str], category: str) -> Entry:
    fitting = [" ".join(tag.split()) for tag in dict.fromkeys(tags)]
    return Entry(
        place=place,
        content=content,
        tags=[tag for tag in fitting if tag and len(tag.encode()) <= TAG_BYTES_MAX],
        category=category if len(category.encode()) <= CATEGORY_BYTES_MAX else None,
        source="server-memory",
    )
