"""The PostgreSQL databases of servers that memhub follows, told by their tables and written as lines to import."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

import asyncpg
import orjson

from ops.moving.detection import Format
from ops.moving.entries import UNREADABLE
from ops.moving.formats import fields, loose, ours
from shared import limits, statements
from shared.errors import InvalidArgument

_AT_ONCE = 100

_SQL = statements.parse("databases", (resources.files("ops.moving") / "databases.sql").read_text(encoding="utf-8"))
_COLUMNS = _SQL["columns"]


@dataclass(frozen=True, slots=True)
class Known:
    """A program by the columns that its tables have, and its statements: $1 of `projects` is the tenant to import into.

    With `projects` the lines are those of our own export, else a record of its own form each.
    """

    program: str
    format: Format
    columns: Mapping[str, frozenset[str]]
    memories: str
    projects: str | None = None


KNOWN = (
    Known(
        "the first memhub",
        Format.MEMHUB,
        {
            "memories": frozenset({"current_revision_no", "superseded_by_id", "superseded_at", "deleted_at"}),
            "memory_revisions": frozenset({"memory_id", "revision_no", "content", "change_reason", "is_current"}),
            "memory_attestations": frozenset({"memory_id", "client_name", "first_seen_at"}),
            "audit_events": frozenset({"action", "outcome", "actor_client", "detail"}),
            "project_aliases": frozenset({"kind", "value_norm"}),
        },
        _SQL["first_memhub_memories"],
        _SQL["first_memhub_projects"],
    ),
    Known(
        "mcp-memory",
        Format.MCP_MEMORY,
        {"memories": frozenset({"tenant_id", "id", "content", "memory_type", "tags", "scope", "conversation"})},
        _SQL["mcp_memory"],
    ),
    Known(
        "mcp-memory before 0.9",
        Format.MCP_MEMORY,
        {"memories": frozenset({"tenant_id", "id", "metadata", "embedding"}), "objects": frozenset({"key", "body"})},
        _SQL["mcp_memory_before"],
    ),
    Known(
        "memory-mcp",
        Format.MEMORY_MCP,
        {"memories": frozenset({"content", "category_path", "supersedes_id", "archived_at", "metadata", "updated_at"})},
        _SQL["memory_mcp_paths"],
    ),
    Known(
        "memory-mcp",
        Format.MEMORY_MCP,
        {
            "environments": frozenset({"id", "name"}),
            "memories": frozenset({"env_id", "kind", "status", "title", "body", "salience", "superseded_by"}),
            "memory_sources": frozenset({"memory_id", "agent_id"}),
            "memory_lineage": frozenset({"parent_memory_id", "relation"}),
            "memory_tags": frozenset({"memory_id", "tag_id"}),
        },
        _SQL["memory_mcp_environments"],
    ),
)


async def known(connection: asyncpg.Connection) -> Known | None:
    """Whose database it is; None for any other."""
    tables = {table for program in KNOWN for table in program.columns}
    there = {table: set(await columns(connection, table)) for table in sorted(tables)}
    for program in KNOWN:
        if all(columns <= there[table] for table, columns in program.columns.items()):
            return program
    return None


async def columns(connection: asyncpg.Connection, table: str) -> list[str]:
    """The columns of a table or view in their order; none where there is none."""
    return [name for (name,) in await connection.fetch(_COLUMNS, table)]


async def lines(connection: asyncpg.Connection, program: Known, *, tenant: str) -> AsyncIterator[bytes]:
    """Everything it holds; the connection must be in a transaction."""
    if program.projects is None:
        async for line in _lines(connection, program.memories):
            yield line
        return
    projects = memories = 0
    yield ours.header()
    async for line in _lines(connection, program.projects, tenant):
        projects += 1
        yield _fitting(line, _fit_project)
    async for line in _lines(connection, program.memories):
        memories += 1
        yield _fitting(line, _fit_memory)
    yield ours.end(projects=projects, memories=memories)


async def _lines(connection: asyncpg.Connection, statement: str, *arguments: str) -> AsyncIterator[bytes]:
    async for (line,) in connection.cursor(statement, *arguments, prefetch=_AT_ONCE):
        yield line.encode() + b"\n"


def _fitting(line: bytes, fit: Callable[[dict[str, Any]], None]) -> bytes:
    """A record whose labels had no bounds there, cut, so that it comes; an odd one as it is, to be told by its line."""
    try:
        told: dict[str, Any] = orjson.loads(line)
        fit(told)
    except (InvalidArgument, *UNREADABLE):
        return line
    return ours.line(told)


def _fit_project(project: dict[str, Any]) -> None:
    project["display_name"] = limits.display_name(loose.cut(project["display_name"], limits.DISPLAY_NAME_BYTES_MAX))
    for event in project["events"]:
        _fit_event(event)


def _fit_memory(memory: dict[str, Any]) -> None:
    for said in (*memory["revisions"], *memory["attestations"]):
        said["author_client"] = limits.client_name(said["author_client"])
        said["source"] = limits.source(loose.shortened(said["source"], limits.SOURCE_BYTES_MAX))
        said["tags"] = limits.tags(loose.tags(said["tags"]))
    for revision in memory["revisions"]:
        revision["reason"] = limits.reason(loose.shortened(revision["reason"], limits.REASON_BYTES_MAX))
    for event in memory["events"]:
        _fit_event(event)


def _fit_event(event: dict[str, Any]) -> None:
    event["client"] = limits.client_name(event["client"])
    try:
        limits.client_request_id(event["request_id"])
    except InvalidArgument:
        event["request_id"] = None
    try:
        fields.details(event, screened=False)
    except (InvalidArgument, *UNREADABLE):
        event["details"] = {}
