"""What changed between two texts, word by word, with a bound on the work."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

# SequenceMatcher is quadratic at worst: 1,500 words against 1,500 of few kinds took 0.1 s.
PRODUCT_MAX = 2_250_000

_WORDS = re.compile(r"\s+|\w+|[^\w\s]")
_LINES = re.compile(r"[^\n]*\n|[^\n]+")

Kind = Literal["same", "added", "removed"]


@dataclass(frozen=True, slots=True)
class Piece:
    kind: Kind
    text: str


def diff(old: str, new: str) -> list[Piece]:
    """Pieces whose same and removed ones make `old`, whose same and added ones make `new`.

    Words where that is not too much work, else lines, else one block of each.
    """
    words = _WORDS.findall(old), _WORDS.findall(new)
    return _compared(*words) or _compared(_LINES.findall(old), _LINES.findall(new)) or _replaced(old, new)


def _compared(before: list[str], after: list[str]) -> list[Piece] | None:
    """None: too much work."""
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    inner_before, inner_after = before[start : len(before) - end], after[start : len(after) - end]
    if len(inner_before) * len(inner_after) > PRODUCT_MAX:
        return None
    inner = _matched(inner_before, inner_after)
    pieces = [Piece("same", "".join(before[:start])), *inner, Piece("same", "".join(before[len(before) - end :]))]
    return [piece for piece in pieces if piece.text]


def _replaced(old: str, new: str) -> list[Piece]:
    return [Piece("removed", old), Piece("added", new)]


def _matched(before: list[str], after: list[str]) -> list[Piece]:
    pieces = []
    for kind, i1, i2, j1, j2 in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            pieces.append(Piece("same", "".join(before[i1:i2])))
            continue
        pieces.append(Piece("removed", "".join(before[i1:i2])))
        pieces.append(Piece("added", "".join(after[j1:j2])))
    return _calmed([piece for piece in pieces if piece.text])


def _calmed(pieces: list[Piece]) -> list[Piece]:
    """Joins changes that only white space parts: two changed words read better as one change."""
    calm: list[Piece] = []
    place = 0
    while place < len(pieces):
        run = _run(pieces, place)
        if run > place + 1:
            changed = pieces[place:run]
            removed = "".join(piece.text for piece in changed if piece.kind != "added")
            added = "".join(piece.text for piece in changed if piece.kind != "removed")
            calm += [piece for piece in (Piece("removed", removed), Piece("added", added)) if piece.text]
            place = run
        else:
            calm.append(pieces[place])
            place += 1
    return calm


def _run(pieces: list[Piece], place: int) -> int:
    """The end of a run of changes from `place`, with the white space inside but not after it."""
    end = place
    for number in range(place, len(pieces)):
        if pieces[number].kind != "same":
            end = number + 1
        elif pieces[number].text.strip() or end == place:
            break
    return end


def _common(before: list[str], after: list[str]) -> int:
    count = 0
    for one, other in zip(before, after, strict=False):
        if one != other:
            break
        count += 1
    return count
