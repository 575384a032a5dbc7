"""What a model should know before it works on something, within a budget of tokens."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import asyncpg

from shared import statements
from shared.domain import Author, MemoryType, ProjectScope
from shared.retrieval import brief, costs, ranking
from shared.retrieval.evidence import gather
from shared.retrieval.meaning import UNKNOWN, Meaning
from shared.retrieval.ranking import CUTS, Cut
from shared.retrieval.requests import ContextRequest, Mode, Search
from shared.retrieval.results import shown
from shared.retrieval.search import understand
from shared.retrieval.selection import Candidate, Dropped, select
from shared.retrieval.terms import Asked
from shared.text.unseen import visible

_WORD = re.compile(r"\w+")
_VALUED = statements.load("retrieval")["valued"]

CANDIDATES_MAX = 100
CANDIDATES_OF_TYPE = 100
# What proves enough for an exploratory search does so here, and more is taken beside the best: the budget chooses.
_CUT = Cut(gate=CUTS[Mode.EXPLORATORY].gate, share=0.4)
WEIGHED_CHARACTERS_MAX = 200_000
"""Six times what the largest budget holds of prose, a tenth of a second: the loop that weighs serves others too."""

ESTIMATOR = "upper bound over o200k, cl100k, Claude and BERT tokenizers"


# A memory with its content, and its value.
_Considered = tuple[asyncpg.Record | dict[str, Any], float]


@dataclass(frozen=True, slots=True)
class Item:
    memory_id: UUID
    revision: int
    type: MemoryType
    tokens: int
    value: float


@dataclass(frozen=True, slots=True)
class Budget:
    requested: int
    used: int
    estimator: str = ESTIMATOR


@dataclass(frozen=True, slots=True)
class Selection:
    considered: int
    selected: int
    dropped: Dropped


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """`items` in the order of their choice; `brief` is Markdown, the same bytes for the same input and data."""

    brief: str
    items: tuple[Item, ...]
    budget: Budget
    selection: Selection
    degraded: str | None = None


async def context(
    connection: asyncpg.Connection,
    scope: ProjectScope,
    author: Author,
    request: ContextRequest,
    *,
    meaning: Meaning = UNKNOWN,
    asked: Asked | None = None,
) -> Context:
    """The brief of what this caller may find; `meaning` and `asked` as for a search."""
    if request.query is None:
        considered = await _valued(connection, scope, author, request)
        degraded = None
    else:
        asked, meaning = await understand(connection, scope, author, request.query, meaning, asked=asked)
        considered = await _found(connection, scope, author, request, asked=asked, meaning=meaning)
        degraded = meaning.degraded
    candidates, unweighed = _weighed(considered, budget=request.token_budget)
    overhead = costs.estimate(brief.title(scope.slug) + "".join(map(brief.heading, _types(candidates))))
    chosen, dropped = select(candidates, budget=request.token_budget, overhead=overhead)
    text = brief.render(scope.slug, chosen)
    return Context(
        brief=text,
        items=tuple(_item(one) for one in chosen),
        budget=Budget(request.token_budget, costs.bound(costs.estimate(text))),
        selection=Selection(len(considered), len(chosen), dropped + unweighed),
        degraded=degraded,
    )


async def _found(
    connection: asyncpg.Connection,
    scope: ProjectScope,
    author: Author,
    request: ContextRequest,
    *,
    asked: Asked,
    meaning: Meaning,
) -> list[_Considered]:
    """What retrieval finds near the best; nothing where nothing proves enough even for an exploratory search."""
    search = Search(query=request.query, types=request.types, limit=CANDIDATES_MAX)
    found = await gather(connection, scope, author, search, asked, vector=meaning.vector)
    near = ranking.within(ranking.order(found, asked), _CUT, CANDIDATES_MAX).kept
    revisions = [(one.evidence.memory_id, one.evidence.revision) for one in near]
    rows = await shown(connection, scope, revisions, None)
    told = [(rows[one.evidence.memory_id], one.score) for one in near if one.evidence.memory_id in rows]
    # Squared, so that twice as near is worth four times the tokens.
    return [(row, score * score) for row, score in told]


async def _valued(
    connection: asyncpg.Connection, scope: ProjectScope, author: Author, request: ContextRequest
) -> list[_Considered]:
    types = None if request.types is None else [memory_type.value for memory_type in request.types]
    rows = await connection.fetch(_VALUED, scope.project_id, author.conversation, types, CANDIDATES_OF_TYPE)
    return [(row, _value(row)) for row in rows]


def _value(row: asyncpg.Record) -> float:
    """Importance, and less for what stands further down among its type; the clock has no part in it."""
    importance = 50 if row["importance"] is None else row["importance"]
    return float((0.1 + importance / 100) / math.log2(row["place"] + 1))


def _weighed(considered: Sequence[_Considered], *, budget: int) -> tuple[list[Candidate], Dropped]:
    """The best of them, up to WEIGHED_CHARACTERS_MAX in all, and why others are not weighed."""
    weighed: list[Candidate] = []
    left = WEIGHED_CHARACTERS_MAX
    unweighed = Dropped()
    for row, value in sorted(considered, key=lambda one: (-one[1], one[0]["memory_id"])):
        length = len(row["content"])
        if length > costs.CHARACTERS_OF_A_TOKEN_MAX * budget:
            unweighed += Dropped(too_large_alone=1)
            continue
        if length > left:
            unweighed += Dropped(no_budget_left=1)
            continue
        # What is written out is up to ten times as long, and has been looked at whether it fits or not.
        content = visible(row["content"])
        fits = len(content) <= left
        left -= len(content) if fits else length
        if fits:
            weighed.append(_candidate(row, content, value))
        else:
            unweighed += Dropped(no_budget_left=1)
    return weighed, unweighed


def _candidate(row: asyncpg.Record | dict[str, Any], content: str, value: float) -> Candidate:
    written_on = row["updated_at"].date()
    return Candidate(
        memory_id=row["memory_id"],
        revision=row["revision"],
        type=MemoryType(row["type"]),
        content=content,
        written_on=written_on,
        value=value,
        cost=costs.estimate(brief.line(content, row["memory_id"], written_on)),
        words=frozenset(_WORD.findall(content.lower())),
    )


def _types(candidates: Sequence[Candidate]) -> list[MemoryType]:
    present = {candidate.type for candidate in candidates}
    return [kind for kind in brief.ORDER if kind in present]


def _item(candidate: Candidate) -> Item:
    return Item(
        memory_id=candidate.memory_id,
        revision=candidate.revision,
        type=candidate.type,
        tokens=math.ceil(candidate.cost.dearest),
        value=round(candidate.value, 4),
    )
