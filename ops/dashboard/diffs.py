"""What changed between two texts, word by word, with a bound on the work of all that one page shows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import Match, SequenceMatcher
from itertools import accumulate, groupby
from typing import Literal

# A step is a word, or a pair of equal words, that SequenceMatcher looks at, for 0.1 to 0.2 µs. It looks again for each
# block that it finds, which makes it cubic: 750 words of few kinds took 34 s. So many take 50 to 150 ms, whatever the
# texts; twenty differences of 750 words of English with 15 changes each take 20,000 each.
STEPS_MAX = 400_000

# A block that is found costs as much besides, until its pieces stand on the page; and a word to be cut out of its text.
BLOCK_STEPS = 50
PART_STEPS = 2

# A word with the space behind it: spaces apart are pairs of all with all, three quarters of the work for English.
_WORDS = re.compile(r"(?:\w+|[^\w\s])\s*|\s+")
_LINES = re.compile(r"[^\n]*\n|[^\n]+")

Kind = Literal["same", "added", "removed"]


@dataclass(frozen=True, slots=True)
class Piece:
    kind: Kind
    text: str


@dataclass(slots=True)
class Budget:
    """The steps that are left to the differences of one page."""

    steps: int = STEPS_MAX


def diff(old: str, new: str, budget: Budget) -> list[Piece]:
    """Pieces whose same and removed ones make `old`, whose same and added ones make `new`.

    Words where the budget is enough, else lines, else one block of each.
    """
    for parts in (_WORDS, _LINES):
        compared = _compared(parts.findall(old), parts.findall(new), budget) if budget.steps > 0 else None
        if compared is not None:
            return compared
    return [Piece("removed", old), Piece("added", new)]


def _compared(before: list[str], after: list[str], budget: Budget) -> list[Piece] | None:
    """None: too much work."""
    budget.steps -= PART_STEPS * (len(before) + len(after))
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    inner = _matched(before[start : len(before) - end], after[start : len(after) - end], budget)
    if inner is None:
        return None
    pieces = [Piece("same", "".join(before[:start])), *inner, Piece("same", "".join(before[len(before) - end :]))]
    return _joined(pieces)


def _matched(before: list[str], after: list[str], budget: Budget) -> list[Piece] | None:
    # Half: what is left of it is for lines, and for the texts that follow.
    matcher = _Matcher(before, after, steps_max=budget.steps // 2)
    try:
        found = matcher.get_opcodes()
    except _TooMuch:
        return None
    finally:
        budget.steps -= matcher.steps
    pieces = []
    for kind, i1, i2, j1, j2 in found:
        removed, added = "".join(before[i1:i2]), "".join(after[j1:j2])
        pieces += [Piece("same", removed)] if kind == "equal" else _changed(removed, added)
    return pieces


class _TooMuch(Exception):
    """More steps than were given."""


class _Matcher(SequenceMatcher[str]):
    """Counts what each search for a block may cost before it begins it."""

    def __init__(self, before: list[str], after: list[str], *, steps_max: int) -> None:
        super().__init__(None, before, after, autojunk=False)
        self.steps = 0
        self._steps_max = steps_max
        costs = (1 + len(self.b2j.get(part, ())) for part in before)  # type: ignore[attr-defined]
        self._costs = list(accumulate(costs, initial=0))

    def find_longest_match(self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None) -> Match:
        cost = self._costs[-1 if ahi is None else ahi] - self._costs[alo] + BLOCK_STEPS
        if self.steps + cost > self._steps_max:
            raise _TooMuch
        self.steps += cost
        return super().find_longest_match(alo, ahi, blo, bhi)


def _changed(removed: str, added: str) -> list[Piece]:
    """The space at the end of both is no change."""
    old, new = removed.rstrip(), added.rstrip()
    space = removed[len(old) :]
    if space != added[len(new) :]:
        return [Piece("removed", removed), Piece("added", added)]
    return [Piece("removed", old), Piece("added", new), Piece("same", space)]


def _joined(pieces: list[Piece]) -> list[Piece]:
    runs = groupby((piece for piece in pieces if piece.text), key=lambda piece: piece.kind)
    return [Piece(kind, "".join(piece.text for piece in run)) for kind, run in runs]


def _common(before: list[str], after: list[str]) -> int:
    count = 0
    for one, other in zip(before, after, strict=False):
        if one != other:
            break
        count += 1
    return count
