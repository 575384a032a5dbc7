"""Searching: the memories that answer a query by their words and their meaning, or a page of the newest."""

from __future__ import annotations

from typing import Any

import asyncpg

from shared.domain import Author, ProjectScope
from shared.retrieval import guidance, ranking
from shared.retrieval.browsing import browse
from shared.retrieval.evidence import gather
from shared.retrieval.meaning import UNKNOWN, Meaning
from shared.retrieval.ranking import Ranked, Ranking, Scored
from shared.retrieval.requests import Found, Hit, Search
from shared.retrieval.results import Stored, hit, shown, stored
from shared.retrieval.spelling import correct
from shared.retrieval.terms import NEWEST_ROWS_MAX, Asked, ask

OTHER_MODEL = "lexical only: the query's vector is of a model that is not the current one"
PAST_LEXICAL = "lexical only: the current model's vectors of that time are not built yet"
PAST_NOT_BUILT = "partly lexical: some of the current model's vectors of that time are not built yet"


async def search(
    connection: asyncpg.Connection,
    scope: ProjectScope,
    author: Author,
    request: Search,
    *,
    meaning: Meaning = UNKNOWN,
    asked: Asked | None = None,
    weights: Ranking = ranking.DEFAULT,
) -> Found:
    """What this caller may find, best first; without a query newest `created_at` first, then by id.

    Shows only what is live, or was live at `as_of`; what that said before, or superseded, is read as evidence for it.
    `meaning` was asked for before the connection was taken: nothing here waits for anything but the database. `asked`
    are the `words` of the query for its model, where they were looked up meanwhile. Raises InvalidArgument for a cursor
    of another search.
    """
    if request.query is None:
        return await browse(connection, scope, author, request)
    asked, meaning = await understand(connection, scope, author, request.query, meaning, asked=asked)
    ranked = await find(connection, scope, author, request, asked=asked, meaning=meaning, weights=weights)
    hits = await _hits(connection, scope, request, asked, ranked.kept)
    told = await stored(connection, scope, author, request.as_of)
    best = ranked.kept[0] if hits else None
    return Found(
        results=hits,
        confidence=guidance.confidence(best),
        guidance=guidance.of_search(request, best, stored=told, gated=ranked.gated),
        semantic_coverage=told.semantic_coverage,
        degraded=meaning.degraded or _of_the_past(request, told),
    )


def _of_the_past(request: Search, told: Stored) -> str | None:
    """What lives has vectors within moments and its share is told; the past may wait for those of a new model."""
    if request.as_of is None or not told.memories or told.semantic_coverage == 1:
        return None
    return PAST_NOT_BUILT if told.semantic_coverage else PAST_LEXICAL


async def words(
    connection: asyncpg.Connection, scope: ProjectScope, author: Author, query: str, *, model: str | None
) -> Asked:
    """The query's terms, misspelt ones corrected; `model` is the one that its vector is of, or will be."""
    asked = await ask(connection, scope, author, query, model=model)
    return await correct(connection, scope, asked, query)


async def understand(
    connection: asyncpg.Connection,
    scope: ProjectScope,
    author: Author,
    query: str,
    meaning: Meaning,
    *,
    asked: Asked | None = None,
) -> tuple[Asked, Meaning]:
    """The query's words, looked up unless they were `asked` before, and its vector if its model answers searches."""
    if asked is None:
        asked = await words(connection, scope, author, query, model=meaning.model)
    if meaning.vector is not None and asked.model_id is None:
        return asked, Meaning(degraded=OTHER_MODEL)
    return asked, meaning


async def find(
    connection: asyncpg.Connection,
    scope: ProjectScope,
    author: Author,
    request: Search,
    *,
    asked: Asked,
    meaning: Meaning,
    weights: Ranking = ranking.DEFAULT,
) -> Ranked:
    """The ranked candidates of a query, without their content."""
    if not asked.has_words and meaning.vector is None:
        return Ranked(kept=(), gated=0)
    found = await gather(connection, scope, author, request, asked, vector=meaning.vector)
    return ranking.rank(found, asked, request.mode, request.limit, weights)


async def _hits(
    connection: asyncpg.Connection, scope: ProjectScope, request: Search, asked: Asked, kept: tuple[Scored, ...]
) -> tuple[Hit, ...]:
    if not kept:
        return ()
    revisions = [(scored.evidence.memory_id, scored.evidence.revision) for scored in kept]
    rows = await shown(connection, scope, revisions, request.as_of)
    return tuple(
        hit(rows[scored.evidence.memory_id], score=round(scored.score, 4), why=_why(scored, asked))
        for scored in kept
        if scored.evidence.memory_id in rows
    )


def _why(scored: Scored, asked: Asked) -> dict[str, Any]:
    told: dict[str, Any] = {
        "terms_matched": [asked.terms[place].shown for place in scored.wording.matched],
        "terms_asked": len(asked.terms),
        "coverage": round(scored.coverage, 4),
    }
    if scored.wording.cosine is not None:
        told["cosine"] = round(scored.wording.cosine, 4)
    if scored.formerly:
        told["in_the_words_of"] = "what it said before or replaced"
    if asked.common is not None:
        told["words_sought_in_newest"] = NEWEST_ROWS_MAX
    return told
