"""How a row of the database becomes a Memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from uuid import UUID

import asyncpg

from shared import statements
from shared.domain import Author, AuthorKind, Memory, MemoryType, ProjectScope, Scope, Status
from shared.memories.refusals import not_found

_READ = statements.load("memories")["read"]

Embedding = Literal["pending", "ready", "disabled"]


@dataclass(frozen=True, slots=True)
class State:
    """A memory as read, and whether its revision can be found by meaning yet."""

    memory: Memory
    embedding: Embedding


async def read(
    connection: asyncpg.Connection,
    scope: ProjectScope,
    author: Author,
    memory_id: UUID,
    *,
    revision: int | None = None,
) -> State:
    """The memory at that revision (None: its head) with its status of now.

    Raises MemoryNotFound where this caller sees none: another project's and another conversation's do not exist.
    """
    row = await connection.fetchrow(_READ, scope.project_id, memory_id, revision, author.conversation)
    if row is None:
        raise not_found(scope, memory_id)
    return State(memory=memory(row), embedding=row["embedding"])


def memory(row: asyncpg.Record) -> Memory:
    return Memory(
        memory_id=row["memory_id"],
        revision=row["revision"],
        status=Status(row["status"]),
        type=MemoryType(row["type"]),
        scope=Scope.PROJECT if row["conversation"] is None else Scope.CONVERSATION,
        content=row["content"],
        category=row["category"],
        tags=tuple(row["tags"]),
        importance=row["importance"],
        expires_at=row["expires_at"],
        expired=row["expired"],
        author_client=row["author_client"],
        author_kind=AuthorKind(row["author_kind"]),
        source=row["source"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        superseded_by=row["superseded_by"],
    )
