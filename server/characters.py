"""Characters that JSON can carry and UTF-8 cannot."""

from __future__ import annotations

import re

SURROGATE = re.compile("[\ud800-\udfff]")


def scrubbed(text: str) -> str:
    """The text with every lone surrogate replaced by U+FFFD, so that it can be written again."""
    return text if text.isascii() else SURROGATE.sub("\ufffd", text)
