"""Close live memories that the writer of a new one should revise or supersede instead; never merged by a score."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from uuid import UUID

import asyncpg

from shared import statements
from shared.domain import Author, MemoryType, ProjectScope
from shared.retrieval import ranking
from shared.retrieval.evidence import STEPS_BACK_MAX, gather
from shared.retrieval.meaning import Meaning
from shared.retrieval.requests import Search
from shared.retrieval.results import shown
from shared.retrieval.terms import ask
from shared.text.canonical import content_hash

_REPLACED_BY = statements.load("retrieval")["replaced_by"]

SHOWN_MAX = 3
CANDIDATES = 20
QUERY_CHARACTERS_MAX = 1_000
SCORE_MIN = 0.45
"""Found on the graded set: half of the memories that a new one superseded, four of ten siblings, and beside them .3
others for each memory. From .55 on it were a quarter, a seventh and .06."""


@dataclass(frozen=True, slots=True)
class Similar:
    """A live memory that says nearly the same; `score` in 0..1, None where `replaced_this`.

    `replaced_this`: the very words that were written held before, and this one holds instead of them.
    """

    memory_id: UUID
    type: MemoryType
    content: str
    score: float | None
    replaced_this: bool | None = None


async def similar(
    connection: asyncpg.Connection,
    scope: ProjectScope,
    author: Author,
    content: str,
    *,
    written: UUID | None,
    meaning: Meaning,
    deadline_s: float,
) -> tuple[Similar, ...] | None:
    """At most SHOWN_MAX memories close to `content`, without `written`; None where the deadline passes first.

    What replaced these very words comes first.

    On a connection in no transaction, after the write: a late answer is no reason to keep the writer waiting.
    """
    try:
        async with asyncio.timeout(deadline_s):
            replaced = await _replaced(connection, scope, author, content, written=written)
            close = await _close(connection, scope, author, content, written=written, meaning=meaning)
    except TimeoutError:
        return None
    told = {one.memory_id for one in replaced}
    return (*replaced, *(one for one in close if one.memory_id not in told))[:SHOWN_MAX]


async def _replaced(
    connection: asyncpg.Connection, scope: ProjectScope, author: Author, content: str, *, written: UUID | None
) -> tuple[Similar, ...]:
    said = content_hash(content)
    found = await connection.fetch(
        _REPLACED_BY, scope.project_id, said, author.conversation, written, STEPS_BACK_MAX, SHOWN_MAX
    )
    rows = await shown(connection, scope, [(row["memory_id"], row["revision"]) for row in found], None) if found else {}
    return tuple(
        Similar(
            memory_id=memory_id,
            type=MemoryType(row["type"]),
            content=row["content"],
            score=None,
            replaced_this=True,
        )
        for memory_id, row in rows.items()
    )


async def _close(
    connection: asyncpg.Connection,
    scope: ProjectScope,
    author: Author,
    content: str,
    *,
    written: UUID | None,
    meaning: Meaning,
) -> tuple[Similar, ...]:
    text = content[:QUERY_CHARACTERS_MAX]
    asked = await ask(connection, scope, author, text, model=meaning.model)
    vector = meaning.vector if asked.model_id is not None else None
    if not asked.has_words and vector is None:
        return ()
    request = Search(query=text, limit=CANDIDATES)
    found = await gather(connection, scope, author, request, asked, vector=vector, leg_rows=CANDIDATES)
    near = [
        scored
        for scored in ranking.order(found, asked)
        if scored.evidence.memory_id != written and scored.score >= SCORE_MIN
    ][:SHOWN_MAX]
    rows = await shown(connection, scope, [(one.evidence.memory_id, one.evidence.revision) for one in near], None)
    return tuple(
        Similar(
            memory_id=one.evidence.memory_id,
            type=MemoryType(rows[one.evidence.memory_id]["type"]),
            content=rows[one.evidence.memory_id]["content"],
            score=round(one.score, 4),
        )
        for one in near
        if one.evidence.memory_id in rows
    )
