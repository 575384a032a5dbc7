"""What a line of Markdown begins, told from the line alone."""

from __future__ import annotations

import re

# No pattern that looks for its end again from each place: a line or a file of a few MB would take hours.
HEADING = re.compile(r" {0,3}(#{1,6})\s+(.*)$")
UNDERLINE = re.compile(r" {0,3}(=+|-+)\s*$")
# A number of more digits is none of a list: "It was released in / 2024. Since then" loses its year.
ITEM = re.compile(r"( {0,3})([-*+]|\d{1,3}[.)])\s+(.*)$")
QUOTE = re.compile(r" {0,3}>")
ROW = re.compile(r" {0,3}\|")
RULE = re.compile(r" {0,3}([-*_])\s*(?:\1\s*){2,}$")

_FENCE = re.compile(r"\s*(?:(?:[-*+]|\d{1,3}[.)])\s+)?(`{3,}(?=[^`]*$)|~{3,})")
_FENCE_END = re.compile(r"\s*(`{3,}|~{3,})\s*$")
_COUNTED = re.compile(r" {0,3}(?!0?1?[.)])\d{1,3}[.)]\s")


def is_within(line: str) -> bool:
    """Whether it would begin a numbered list that does not begin at its first number: within a paragraph it is text."""
    return _COUNTED.match(line) is not None


def closes_fence(line: str) -> bool:
    return _FENCE_END.match(line) is not None


def fence_after(fence: str, line: str) -> str:
    """The fence that is open after this line, or none; `fence` is the one that is open before it."""
    if not fence:
        mark = _FENCE.match(line)
        return mark[1] if mark else ""
    mark = _FENCE_END.match(line)
    return "" if mark and mark[1].startswith(fence) else fence
