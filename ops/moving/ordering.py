"""The order in which what waits for its successor is read again: the successors first."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass

from ops.moving.continuing import Key
from ops.moving.lives import Life, Place


@dataclass(frozen=True, slots=True)
class Held:
    """A memory that could not come yet; `successor` is None where it waits for something else."""

    place: Place
    key: Key
    successor: Key | None

    @classmethod
    def of(cls, life: Life) -> Held:
        return cls(life.place, life.key, life.successor)


def successors_first(held: Sequence[Held]) -> list[Place]:
    """Each place once. Of a chain in any order each round would else bring two or three."""
    # What came later is mostly what supersedes.
    latest = sorted(held, key=lambda each: each.place.offset, reverse=True)
    keys = {each.key for each in latest}
    followers: dict[Key | None, list[Held]] = defaultdict(list)
    for each in latest:
        followers[each.successor if each.successor in keys else None].append(each)
    places: dict[Place, None] = {}
    ready = deque(followers.pop(None, ()))
    while ready:
        each = ready.popleft()
        places[each.place] = None
        ready.extend(followers.pop(each.key, ()))
    # A ring has no first.
    places |= dict.fromkeys(each.place for each in latest)
    return list(places)
