"""The resources of memhub: the tenant's projects, a memory that holds now, and a memory's history."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

import mcp_types
import orjson
from pydantic import BaseModel

from server import arguments
from server.call import Call
from server.tools import memory_context
from server.tools.memory_history import MemoryHistoryResult
from server.tools.views import View, WholeMemoryView
from shared.domain import Change, ProjectScope, Status
from shared.errors import InvalidArgument, MemoryNotFound

if TYPE_CHECKING:
    from asyncpg import Connection

MIME_TYPE = "application/json"
BRIEF_MIME_TYPE = "text/markdown"
PROJECTS_URI = "memory://projects"
_URI_CHARACTERS_MAX = 512
_MEMORY = re.compile(
    r"memory://memories/(?P<memory_id>[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})(?P<history>/history)?"
)

_CONTEXT = re.compile(r"memory://projects/(?P<slug>[A-Za-z0-9._-]{2,64})/context")

RESOURCES = (
    mcp_types.Resource(
        uri=PROJECTS_URI,
        name="projects",
        description="The projects of this tenant: id, slug and display name.",
        mime_type=MIME_TYPE,
    ),
)
TEMPLATES = (
    mcp_types.ResourceTemplate(
        uri_template="memory://projects/{slug}/context",
        name="context",
        description="The brief of what holds in a project, as memory_context gives it without a query.",
        mime_type=BRIEF_MIME_TYPE,
    ),
    mcp_types.ResourceTemplate(
        uri_template="memory://memories/{id}",
        name="memory",
        description="One memory that holds now, whole.",
        mime_type=MIME_TYPE,
    ),
    mcp_types.ResourceTemplate(
        uri_template="memory://memories/{id}/history",
        name="memory_history",
        description="All that ever held for one memory, retired ones too.",
        mime_type=MIME_TYPE,
    ),
)


class ProjectView(View):
    project_id: UUID
    slug: str
    display_name: str | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """A resource found by its URI; `name` is what a log line may say of it."""

    name: str
    read: Callable[[Call], Awaitable[str]]
    mime_type: str = MIME_TYPE


def find(uri: str) -> Reading:
    """The resource that a URI names. Raises InvalidArgument where it names none."""
    if uri == PROJECTS_URI:
        return Reading("projects", _projects)
    briefed = _CONTEXT.fullmatch(uri[:_URI_CHARACTERS_MAX])
    if briefed is not None:
        return Reading("context", lambda call: _context(call, briefed["slug"]), mime_type=BRIEF_MIME_TYPE)
    named = _MEMORY.fullmatch(uri[:_URI_CHARACTERS_MAX])
    if named is None:
        raise InvalidArgument(
            "uri",
            "no such resource",
            next="Read memory://projects, memory://projects/{slug}/context, memory://memories/{id} or "
            "memory://memories/{id}/history.",
        )
    memory_id = UUID(named["memory_id"])
    if named["history"]:
        return Reading("memory_history", lambda call: _history(call, memory_id))
    return Reading("memory", lambda call: _memory(call, memory_id))


def canonical(uri: str) -> str:
    """One spelling for every way to write a URI. Raises InvalidArgument where it names no resource."""
    find(uri)
    return uri.lower()


def changed_by(change: Change) -> tuple[str, ...]:
    """The canonical URIs of the resources whose text an event of the audit may have changed."""
    if change.memory_id is None and not change.event.startswith("project_"):
        return ()
    contexts = [f"memory://projects/{name}/context" for name in (change.slug, change.project_id, change.former) if name]
    if change.memory_id is None:
        # A brief begins with the name of its project.
        return (PROJECTS_URI, *contexts) if change.former is not None else (PROJECTS_URI,)
    memory = f"memory://memories/{change.memory_id}"
    if change.event == "attested":
        return (f"{memory}/history",)
    return (memory, f"{memory}/history", *contexts)


async def _projects(call: Call) -> str:
    async with call.reading() as connection:
        projects = await call.projects.listed(connection, call.caller.tenant)
    return _json({"projects": [_plain(ProjectView.model_validate(listed.project)) for listed in projects]})


async def _context(call: Call, slug: str) -> str:
    asked = arguments.parse(memory_context.MemoryContextArguments, {"project": slug})
    return (await memory_context.run(call, asked)).brief


async def _memory(call: Call, memory_id: UUID) -> str:
    async with call.reading() as connection:
        scope = await _owning(call, connection, memory_id)
        memory = await call.backend.memories.read(connection, scope, call.caller.author, memory_id)
    if memory.status is not Status.ACTIVE or memory.expired:
        raise MemoryNotFound(
            f"memory_id: {memory_id} does not hold any more.",
            next=f"Read memory://memories/{memory_id}/history for what became of it.",
        )
    return _json(_plain(WholeMemoryView.model_validate(memory)))


async def _history(call: Call, memory_id: UUID) -> str:
    async with call.reading() as connection:
        scope = await _owning(call, connection, memory_id)
        history = await call.backend.memories.history(connection, scope, call.caller.author, memory_id)
    return _json(_plain(MemoryHistoryResult.model_validate(history)))


async def _owning(call: Call, connection: Connection, memory_id: UUID) -> ProjectScope:
    caller = call.caller
    scope = await call.projects.owning(connection, caller.tenant, memory_id, conversation=caller.author.conversation)
    call.project = scope.slug
    return scope


def _plain(view: BaseModel) -> dict[str, Any]:
    return view.model_dump(mode="json", exclude_none=True)


def _json(value: dict[str, Any]) -> str:
    return orjson.dumps(value).decode()
