"""What a search tells the model about its own answer: how sure it is, and what silence means."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

from shared.retrieval.ranking import Scored
from shared.retrieval.requests import Search
from shared.retrieval.results import Stored

Confidence = Literal["high", "medium", "low"]

HIGH_FROM = 0.67
MEDIUM_FROM = 0.53
"""Of the best result's proof. On the tuning half 8 and 29 of 100 questions without an answer are told high, and no less
than medium; of 100 first results that are told so 96 and 97 answer."""


def confidence(best: Scored | None) -> Confidence:
    """How far the best result answers, by its proof; None: there is no result.

    High by what it says now alone: what replaced a close match says something else.
    """
    if best is None or best.proof < MEDIUM_FROM:
        return "low"
    return "high" if best.proof_now >= HIGH_FROM and not best.formerly else "medium"


def of_search(request: Search, best: Scored | None, *, stored: Stored, gated: int) -> str:
    """`best` of what was found, `gated` how many came near and proved too little, `stored` what the caller may see."""
    if request.as_of is not None:
        return _of_instant(best, is_past=request.as_of <= datetime.now(UTC))
    if stored.memories == 0:
        return f"{_nothing(stored)} This says nothing about what holds: ask, do not assume."
    if best is None:
        near = f" ({gated} came near, but not near enough)" if gated else ""
        among, instead = str(stored), "try other words"
        if _is_filtered(request):
            among, instead = f"what has these types and tags, of {among}", "leave them out, try other words"
        return (
            f"No confident match among {among}{near}. That is no evidence for the opposite: "
            f"{instead}, or ask; do not assume."
        )
    return _of_results(best)


def _of_results(best: Scored) -> str:
    match confidence(best):
        case "high":
            return "The first result matches closely. It is the current state; cite its memory_id."
        case "medium" if best.formerly:
            return (
                "The first result was found by what it said before, or by what it replaced. Read what it says now; "
                "that is the current state."
            )
        case "medium":
            return "The results match in part. Check that the first one answers before you rely on it."
        case "low":
            return "Only a weak match. Treat these as hints; what you ask may not be stored."


def _of_instant(best: Scored | None, *, is_past: bool) -> str:
    if best is None:
        return "Nothing that holds at that instant matches. That is no evidence for the opposite."
    sure = "matches closely" if confidence(best) == "high" else "may match"
    if is_past:
        return f"The first result {sure}. It held at that instant and may be superseded since: ask memory_history."
    return f"The first result {sure}. That instant is still to come: it holds now, and does not expire before."


def of_browsing(request: Search, *, shown: int, more: bool, stored: Stored) -> str:
    """`shown` on this page, `stored` of what the caller may see now."""
    if stored.memories == 0 and request.as_of is None:
        return _nothing(stored)
    rest = " Pass next_cursor for the next page." if more else ""
    return f"{shown} of {_browsed(request, stored)}, newest first.{rest}"


def _nothing(stored: Stored) -> str:
    # Named: a client that leads to another project than its user thinks finds it as empty.
    if stored.before:
        return (
            f"Nothing in the project {stored.project} is current: what was stored is superseded, forgotten or expired."
        )
    return f"Nothing is stored in the project {stored.project} yet."


def _browsed(request: Search, stored: Stored) -> str:
    which = "the memories with these types and tags" if _is_filtered(request) else "the memories"
    if request.as_of is not None:
        return f"{which} that held at that instant"
    return which if _is_filtered(request) else str(stored)


def _is_filtered(request: Search) -> bool:
    return request.types is not None or bool(request.tags)
