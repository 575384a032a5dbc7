"""Cuts content into pieces that a model reads well, without losing a character."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

# The vector of a piece is the mean of its tokens: a sentence found at cosine .43 by itself came to .25 in a
# piece of 64 foreign tokens, to .12 in one of 128 and .06 in one of 192, below every floor. A note of up to
# WHOLE_TOKENS is mostly about one thing and stays whole.
WHOLE_TOKENS = 96
PIECE_TOKENS = 64
PIECES_MAX = 384

# A cut falls behind the last of the first kind that the last third of a piece holds.
_BREAKS = (
    re.compile(r"\n[^\S\n]*\n\s*"),
    re.compile(r"\n\s*"),
    re.compile(r"[.!?。！？…][\"'”’)\]]*\s+|[。！？]"),
    re.compile(r"\s+"),
)


@dataclass(frozen=True, slots=True)
class Span:
    """Characters `start` to `end` of a content."""

    start: int
    end: int


def cut(content: str, *, starts: Sequence[int], room_tokens: int) -> list[Span]:
    """Spans that together cover every character of the content, overlapping a little, in order.

    `starts` are the characters at which tokens begin; no span holds more than `room_tokens` of them. Pieces
    grow with the content, so that 32,000 bytes, which are never more tokens, give at most PIECES_MAX at
    a room of 206.
    """
    if len(starts) <= min(WHOLE_TOKENS, room_tokens):
        return [Span(0, len(content))]
    piece_tokens = min(room_tokens, max(PIECE_TOKENS, -(-2 * len(starts) // (PIECES_MAX - 1))))
    overlap_tokens = piece_tokens // 6
    spans = [Span(0, _end(content, starts, first=0, piece_tokens=piece_tokens))]
    while spans[-1].end < len(content):
        first = _first(content, starts, behind=spans[-1].end, overlap_tokens=overlap_tokens)
        end = _end(content, starts, first=first, piece_tokens=piece_tokens)
        spans.append(Span(starts[first], end))
    return spans


def _end(content: str, starts: Sequence[int], *, first: int, piece_tokens: int) -> int:
    """Where the piece that begins with that token ends: `piece_tokens` on at most, two thirds at least."""
    if first + piece_tokens >= len(starts):
        return len(content)
    low, high = starts[first + (2 * piece_tokens + 2) // 3], starts[first + piece_tokens]
    for kind in _BREAKS:
        ends = [match.end() for match in kind.finditer(content, low, high)]
        if ends:
            return ends[-1]
    return high


def _first(content: str, starts: Sequence[int], *, behind: int, overlap_tokens: int) -> int:
    """The token that the next piece begins with: one that begins a line, a sentence or a word of the overlap.

    Never one that begins after `behind`: a token that a cut went through comes again as a whole.
    """
    last = bisect_right(starts, behind) - 1
    low = starts[last - overlap_tokens]
    for kind in _BREAKS[1:]:
        match = kind.search(content, low, behind)
        if match is not None and match.end() < behind:
            return min(last, bisect_left(starts, match.end()))
    return last
