"""What is known about the candidates of a search, by words and by meaning, before anything is weighed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg
import orjson

from shared import limits, statements
from shared.domain import Author, ProjectScope
from shared.retrieval.requests import Search
from shared.retrieval.terms import NEWEST_ROWS_MAX, Asked

_SQL = statements.load("retrieval")
_CANDIDATES = _SQL["candidates"]
_CANDIDATES_AS_OF = _SQL["candidates_as_of"]
_FORMERLY = _SQL["formerly"]

LEG_ROWS = 100

# On really embedded texts, recall@10 of questions about other things than what is stored: 600 chunks .971 of 10,000 and
# .978 of 19,900 memories, 1,000 chunks .987 and .991 (of like texts 1.0 and .999). Comparing every vector is as fast up
# to here: at 10,000 33 ms against 44, at 19,900 96 against 83. Of more memories they are too few, with vectors placed
# around real ones: 1,000 chunks .979 of 50,000 and .962 of 100,000, 1,500 .987 and .978, 3,000 .995 and .991.
FIRST_PASS_FROM_MEMORIES = 15_000
FIRST_PASS_CHUNKS_MIN = 1_000
FIRST_PASS_SHARE = 0.03

STEPS_BACK_MAX = 8
FORMER_REVISIONS_MAX = 4
FORMER_MEMORIES_MAX = 400
SUPERSEDED_BY_ONE_MAX = limits.SUPERSEDES_MAX


@dataclass(frozen=True, slots=True)
class Wording:
    """`matched` are places in Asked.terms; `cosine` is that of the best chunk, None where there is no vector."""

    matched: tuple[int, ...]
    cosine: float | None


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a live memory says, and in `former` what it said before and what it superseded."""

    memory_id: UUID
    revision: int
    matched: tuple[int, ...]
    cosine: float | None
    updated_at: datetime
    former: tuple[Wording, ...] = ()


async def gather(
    connection: asyncpg.Connection,
    scope: ProjectScope,
    author: Author,
    request: Search,
    asked: Asked,
    *,
    vector: Sequence[float] | None,
    leg_rows: int = LEG_ROWS,
) -> list[Evidence]:
    """At most `leg_rows` of each leg, in no order."""
    queries = [term.query for term in asked.terms]
    model_id = asked.model_id if vector is not None else None
    near = None if vector is None else orjson.dumps(vector).decode()
    arguments: list[Any] = [
        scope.project_id,
        author.conversation,
        asked.rare,
        queries,
        [term.weight for term in asked.terms],
        None if request.types is None else [memory_type.value for memory_type in request.types],
        list(request.tags),
        request.match_all_tags,
        model_id,
        near,
        leg_rows,
        leg_rows,
        asked.common,
        NEWEST_ROWS_MAX,
    ]
    if request.as_of is None:
        first_pass = first_pass_chunks(asked.memories)
        rows = await connection.fetch(_CANDIDATES, *arguments, first_pass)
    else:
        rows = await connection.fetch(_CANDIDATES_AS_OF, *arguments, request.as_of)
    former = await _formerly(
        connection, scope, author, rows, queries=queries, model_id=model_id, vector=near, as_of=request.as_of
    )
    return [_evidence(row, tuple(former.get(row["memory_id"], ()))) for row in rows]


def first_pass_chunks(memories: int) -> int | None:
    """How many chunks of a project of that size are chosen by their signs; None: all are compared."""
    if memories < FIRST_PASS_FROM_MEMORIES:
        return None
    return max(FIRST_PASS_CHUNKS_MIN, int(FIRST_PASS_SHARE * memories))


async def _formerly(
    connection: asyncpg.Connection,
    scope: ProjectScope,
    author: Author,
    rows: Sequence[asyncpg.Record],
    *,
    queries: list[str],
    model_id: int | None,
    vector: str | None,
    as_of: datetime | None,
) -> dict[UUID, list[Wording]]:
    """The former wordings of the candidates, the latest first."""
    wordings: defaultdict[UUID, list[Wording]] = defaultdict(list)
    if not rows:
        return wordings
    told = await connection.fetch(
        _FORMERLY,
        scope.project_id,
        author.conversation,
        [row["memory_id"] for row in rows],
        [row["revision"] for row in rows],
        queries,
        model_id,
        vector,
        STEPS_BACK_MAX,
        FORMER_REVISIONS_MAX,
        FORMER_MEMORIES_MAX,
        SUPERSEDED_BY_ONE_MAX,
        as_of,
    )
    for row in told:
        wordings[row["memory_id"]].append(_wording(row))
    return wordings


def _wording(row: asyncpg.Record) -> Wording:
    return Wording(matched=tuple(row["matched"]), cosine=row["cosine"])


def _evidence(row: asyncpg.Record, former: tuple[Wording, ...]) -> Evidence:
    return Evidence(
        memory_id=row["memory_id"],
        revision=row["revision"],
        matched=tuple(row["matched"]),
        cosine=row["cosine"],
        updated_at=row["updated_at"],
        former=former,
    )
