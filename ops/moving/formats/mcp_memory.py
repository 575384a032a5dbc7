"""What mcp-memory holds: rows of its PostgreSQL, of both its schemas, and the listing of its S3 Vectors index."""

from __future__ import annotations

from typing import Any

from ops.moving.entries import Entry
from ops.moving.formats import loose
from ops.moving.lives import Place, Problem
from shared import limits
from shared.errors import InvalidArgument

# What it writes where no type was named.
_NO_TYPE = "project"
_OF_CONVERSATION = "conversation"


def entries(place: Place, value: Any) -> list[Entry | Problem]:
    """A memory of one conversation stays in it; nothing is replaced there, only deleted."""
    match value:
        case {"key": str(key), "metadata": dict(told)}:
            tenant, _, id = key.partition("#")
            return [_memory(place, tenant, id, _from_metadata(told))]
        case {"tenant_id": str(tenant), "id": str(id), "metadata": dict(told)}:
            return [_memory(place, tenant, id, _from_metadata(told))]
        case {"tenant_id": str(tenant), "id": str(id)}:
            return [_memory(place, tenant, id, value)]
        case _:
            return [Problem(place, "it is no memory with a tenant and an id")]


def origin(value: Any) -> str | None:
    """The tenant of a memory, also of one that cannot be read."""
    match value:
        case {"key": str(key), "metadata": dict()}:
            return key.partition("#")[0] or None
        case {"tenant_id": str(tenant), "id": str()}:
            return tenant or None
        case _:
            return None


def _memory(place: Place, tenant: str, id: str, told: dict[str, Any]) -> Entry | Problem:
    if told.get("content") is None or not tenant:
        return Problem(place, "it has no content" if tenant else "it has no tenant")
    kind = told.get("memory_type")
    category = loose.category(told.get("category"))
    own = loose.category(kind) if kind != _NO_TYPE else None
    tags = loose.tags(told.get("tags"))
    conversation = told.get("conversation")
    is_scoped = told.get("scope") == _OF_CONVERSATION
    return Entry(
        place=place,
        content=told["content"],
        key=id,
        type=loose.type_of(category),
        category=category or own,
        tags=loose.tags([*tags, f"type:{own}"]) if category and own else tags,
        created_at=told.get("created_at"),
        source="mcp-memory",
        # The empty one is refused: without it the memory would be for all.
        conversation=(conversation or "") if is_scoped else None,
        author_conversation=None if is_scoped else _provenance(conversation),
    )


def _provenance(conversation: object) -> str | None:
    """Where it was said, of a memory that is for all: no reason to refuse it."""
    try:
        return None if conversation is None else limits.conversation(conversation)
    except InvalidArgument:
        return None


def _from_metadata(told: dict[str, Any]) -> dict[str, Any]:
    """In the names of its columns."""
    return told | {"memory_type": told.get("memoryType"), "created_at": told.get("createdAt")}
