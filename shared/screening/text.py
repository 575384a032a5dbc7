"""The content as detectors read it: spaces collapsed, a lower-case twin of the same length, line numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass

# detect-secrets' assignment patterns put three space quantifiers side by side: "key" and 3,000 spaces
# took 125 s, one space is linear. Line breaks stay, so that lines can be counted.
_SPACES = re.compile(r"[ \t\r\f\v\u00a0]+")
_UNEVEN = ("  ", "\t", "\r", "\f", "\v", "\u00a0")


@dataclass(frozen=True, slots=True)
class Text:
    """Offsets of `plain` and `lowered` agree."""

    plain: str
    lowered: str

    @classmethod
    def of(cls, content: str) -> Text:
        is_even = not any(spaces in content for spaces in _UNEVEN)
        # The dotted capital I is the only character whose lower case is longer than itself.
        plain = (content if is_even else _SPACES.sub(" ", content)).replace("\u0130", "I")
        return cls(plain, plain.lower())

    def line_of(self, offset: int) -> int:
        """The line, from 1, of an offset into `plain`."""
        return self.plain.count("\n", 0, offset) + 1
