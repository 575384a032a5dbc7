"""The comments of a Markdown text, told from what only looks like one: within code, after a backslash, never closed."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from ops.moving.formats import marks

_OPENING, _CLOSING = "<!--", "-->"
# The rules that `memhub connect` wrote are no memories of the project.
_OURS = ("<!-- memhub:begin", "<!-- memhub:end -->")

_BLOCK = re.compile(r" {0,3}<!--")
_INDENTED = re.compile(r" {4}| {0,3}\t")
_BELOW = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s")
_INLINE = re.compile(r"\\[\\`<]|`+|<!--")
_TICKS = re.compile("`+")


@dataclass(frozen=True, slots=True)
class Comment:
    """From `begin` to before `end` of the text; `is_ours` says that it is what `memhub connect` wrote, whole."""

    begin: int
    end: int
    is_ours: bool


def comments(text: str, at: int = 0) -> Iterator[Comment]:
    """Those from there on in their order (CommonMark 0.31, sections 4.6 and 6.6), in time in proportion to the length.

    One that begins a line ends wherever it is closed; one within a line ends in its paragraph, or is none.
    """
    if text.find(_OPENING, at) < 0:
        return
    closed, closed_ours = text.rfind(_CLOSING), text.rfind(_OURS[1])
    fence, code, item, blank = "", False, False, True
    while at < len(text):
        end = _line_end(text, at)
        line = text[at:end]
        was_open = fence
        fence = marks.fence_after(fence, line)
        if was_open or fence:
            at, blank = end + 1, False
            continue
        if not line.strip():
            at, blank = end + 1, True
            continue
        indented = _INDENTED.match(line) is not None
        item = marks.ITEM.match(line) is not None or (item and (line[0] in " \t" or not blank))
        code = indented and not item and (blank or code)
        if code:
            at, blank = end + 1, False
            continue
        blank = False
        if block := _BLOCK.match(line):
            begin = at + block.end() - len(_OPENING)
            if text.startswith(_OURS[0], begin) and begin < closed_ours:
                at = text.index(_OURS[1], begin) + len(_OURS[1])
                yield Comment(begin, at, is_ours=True)
                continue
            # The shortest ones are <!--> and <!--->.
            if begin + 2 <= closed:
                at = text.index(_CLOSING, begin + 2) + len(_CLOSING)
                yield Comment(begin, at, is_ours=False)
                continue
        end = _paragraph_end(text, end)
        yield from _inline(text, at, end)
        at = end + 1


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _paragraph_end(text: str, end: int) -> int:
    """The end of the last line that goes on with the one that ends here."""
    while end < len(text):
        following = _line_end(text, end + 1)
        line = text[end + 1 : following]
        if not line.strip() or _begins(line):
            return end
        end = following
    return end


def _begins(line: str) -> bool:
    begun = (_BELOW, marks.HEADING, marks.RULE, marks.UNDERLINE, marks.ROW, _BLOCK)
    return any(mark.match(line) for mark in begun) or bool(marks.fence_after("", line))


def _inline(text: str, at: int, end: int) -> Iterator[Comment]:
    closed = text.rfind(_CLOSING, at, end)
    if closed < 0:
        return
    ticks: dict[int, list[int]] = defaultdict(list)
    for run in _TICKS.finditer(text, at, end):
        ticks[len(run[0])].append(run.start())
    while found := _INLINE.search(text, at, end):
        at = found.end()
        if found[0] == _OPENING and found.start() + 2 <= closed:
            at = text.index(_CLOSING, found.start() + 2) + len(_CLOSING)
            yield Comment(found.start(), at, is_ours=False)
        elif found[0][0] == "`":
            # Code ends at the next run of as many; without one it is none.
            runs = ticks[len(found[0])]
            closing = bisect_left(runs, at)
            at = runs[closing] + len(found[0]) if closing < len(runs) else at
