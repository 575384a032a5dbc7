"""One memory: what it says, how it came to say so, what it replaced and what replaced it, who agreed, what happened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, islice

from starlette.responses import Response

from ops.dashboard.chains import HEIGHT, WIDTH, draw
from ops.dashboard.diffs import Budget, Piece, diff
from ops.dashboard.rendering import Renderer
from ops.dashboard.visits import Visit
from shared import limits
from shared.errors import InvalidArgument
from shared.overview.lives import Life, Revision, life

REVISIONS_SHOWN = 20

# Of contents: twenty as long as they can be made a page of 9 MB, for which this process did nothing else for 0.2 s.
CHARS_SHOWN_MAX = 200_000


@dataclass(frozen=True, slots=True)
class Told:
    """A revision with its changes against the one before; `pieces` is None for the first, and where one is purged."""

    revision: Revision
    pieces: list[Piece] | None
    changed: tuple[str, ...]


async def show(renderer: Renderer, visit: Visit) -> Response:
    asked = visit.request.query_params
    conversation = asked.get("conversation") or None
    async with visit.reading() as connection:
        shown = await life(
            connection,
            visit.visitor.view,
            visit.request.path_params["memory_id"],
            conversation=None if conversation is None else limits.conversation(conversation, "conversation"),
            up_to=_revision(asked.get("up_to")),
            revisions=REVISIONS_SHOWN,
        )
    told = _told(shown)
    return renderer.page(
        visit.request,
        "memory.html",
        visitor=visit.visitor,
        life=shown,
        told=told,
        older=shown.revisions[len(told)].revision if len(shown.revisions) > len(told) else None,
        picture=draw(shown.chain),
        node={"width": WIDTH, "height": HEIGHT},
        conversation=conversation,
    )


def _revision(given: str | None) -> int | None:
    if not given:
        return None
    if not (given.isascii() and given.isdigit() and len(given) < 10 and int(given)):
        raise InvalidArgument("up_to", "is no number of a revision", next="Leave it out for the newest.")
    return int(given)


def _told(shown: Life) -> list[Told]:
    following = [*shown.revisions[1:], None]
    pairs = list(zip(shown.revisions, following, strict=True))
    budget = Budget()
    return [_against(revision, before, budget) for revision, before in pairs[: _fitting(shown.revisions)]]


def _fitting(revisions: Sequence[Revision]) -> int:
    """How many one page shows."""
    chars = accumulate(len(revision.content or "") for revision in revisions)
    return max(1, sum(total <= CHARS_SHOWN_MAX for total in islice(chars, REVISIONS_SHOWN)))


def _against(revision: Revision, before: Revision | None, budget: Budget) -> Told:
    if before is None:
        return Told(revision, None, ())
    pieces = None
    if revision.content is not None and before.content is not None:
        pieces = diff(before.content, revision.content, budget)
    return Told(revision, pieces, _changed(before, revision))


def _changed(before: Revision, after: Revision) -> tuple[str, ...]:
    """What changed beside the content, in words."""
    changes = []
    if added := [tag for tag in after.tags if tag not in before.tags]:
        changes.append(f"tags added: {', '.join(added)}")
    if removed := [tag for tag in before.tags if tag not in after.tags]:
        changes.append(f"tags removed: {', '.join(removed)}")
    for name in ("importance", "expires_at", "type", "category"):
        was, now = getattr(before, name), getattr(after, name)
        if was != now:
            changes.append(f"{name}: {_plain(was)} → {_plain(now)}")
    return tuple(changes)


def _plain(value: object) -> str:
    return "none" if value is None else f"{value}"
