"""The order in which what waits for its successor is read again."""

from __future__ import annotations

from uuid import UUID

from ops.moving.lives import Place
from ops.moving.ordering import Held, successors_first

PROJECT = UUID(int=9)


def held(offset: int, memory: int, successor: int | None = None) -> Held:
    follows = None if successor is None else (PROJECT, UUID(int=successor))
    return Held(Place(f"line {offset}", offset), (PROJECT, UUID(int=memory)), follows)


def ordered(*all_held: Held) -> list[int]:
    return [place.offset for place in successors_first(all_held)]


def test_a_successor_comes_before_what_it_superseded() -> None:
    assert ordered(held(1, 1, 2), held(2, 3, 4), held(3, 2, 3)) == [2, 3, 1]


def test_what_came_later_comes_first_where_nothing_else_tells() -> None:
    assert ordered(held(1, 1, 7), held(2, 2, 8), held(3, 3)) == [3, 2, 1]


def test_a_ring_and_what_hangs_on_it_is_kept_too() -> None:
    # Fails without the places of all at the end: what was held would be lost without a word.
    assert sorted(ordered(held(1, 1, 2), held(2, 2, 1), held(3, 3, 3), held(4, 4, 3))) == [1, 2, 3, 4]


def test_a_place_that_holds_two_is_read_once() -> None:
    assert ordered(held(5, 1), held(5, 2), held(5, 1, 2)) == [5]
