"""What a file says of its projects, line by line: a memory is of the project as the line before it told."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from operator import itemgetter
from typing import Generic, TypeVar
from uuid import UUID

from ops.moving.lives import Place

_Said = TypeVar("_Said")


class Declared(Generic[_Said]):
    """Told in the order of the file; a memory may be read again when more has been told."""

    def __init__(self) -> None:
        self._told: defaultdict[UUID, list[tuple[int, _Said]]] = defaultdict(list)

    def tell(self, project_id: UUID, place: Place, said: _Said) -> None:
        self._told[project_id].append((place.offset, said))

    def at(self, project_id: UUID, place: Place) -> _Said | None:
        """What was told last at or before the place."""
        told = self._told.get(project_id, [])
        count = bisect_right(told, place.offset, key=itemgetter(0))
        return told[count - 1][1] if count else None
