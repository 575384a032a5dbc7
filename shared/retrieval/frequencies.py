"""How many live memories of a project hold each word, counted beside the request path for ranking and spelling.

What belongs to one conversation is not counted: whoever searches the project would learn of its words.
"""

from __future__ import annotations

from uuid import UUID

import asyncpg

from shared import statements
from shared.text.document import project_lexeme

_SQL = statements.load("frequencies")
_DUE = _SQL["due"]
_LOCK = _SQL["lock"]
_COUNT = _SQL["count"]
_PUT_OFF = _SQL["put_off"]

PROJECTS_MAX = 50
PAUSE_S_PER_THOUSAND = 30.0
"""100,000 memories take some seconds to count and are counted again after 50 minutes at the earliest."""


async def due(connection: asyncpg.Connection, *, projects_max: int = PROJECTS_MAX) -> list[UUID]:
    """Projects that should be counted now, those never counted first and those whose count failed last."""
    rows = await connection.fetch(_DUE, projects_max, PAUSE_S_PER_THOUSAND)
    return [row["id"] for row in rows]


async def count(connection: asyncpg.Connection, project_id: UUID) -> int | None:
    """Counts the words of a project and commits: how many live memories all of it sees, None where another counts."""
    async with connection.transaction():
        if not await connection.fetchval(_LOCK, project_id):
            return None
        memories: int = await connection.fetchval(_COUNT, project_id, project_lexeme(project_id))
    return memories


async def refresh(connection: asyncpg.Connection, *, projects_max: int = PROJECTS_MAX) -> int:
    """Counts what is due, at most `projects_max` projects, each in its own transaction; how many there were.

    One whose count fails is put off and the others are counted all the same; then the first failure is raised.
    """
    counted = 0
    failures: list[Exception] = []
    for project_id in await due(connection, projects_max=projects_max):
        try:
            counted += await count(connection, project_id) is not None
        except (asyncpg.PostgresError, TimeoutError) as failed:
            # Where the connection was lost, this raises and ends the run.
            await connection.execute(_PUT_OFF, project_id)
            failures.append(failed)
    if failures:
        raise failures[0]
    return counted
