"""Texts of others as a terminal may have them."""

from __future__ import annotations

import re

from shared.text.unseen import visible

# C0 but tabs and line ends, DEL and C1, separators of lines, what turns the direction of writing, lone surrogates.
_COMMANDS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def shown(text: object) -> str:
    """The text with what a terminal would obey, or show as nothing, written out, such as \\x1b."""
    return visible(_COMMANDS.sub(lambda command: command[0].encode("unicode_escape").decode(), str(text)))
