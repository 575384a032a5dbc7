"""Unicode normalisation whose cost stays linear, however many marks stand on one letter."""

from __future__ import annotations

import re
import unicodedata
from itertools import groupby
from typing import Literal

# What is or becomes a combining mark is neither a word character nor blank, but for the two halfwidth voice marks.
_MARK_RUN = re.compile(r"(?:[^\w\s\x00-\x7f]|[\uff9e\uff9f]){32,}+")


def composed(form: Literal["NFC", "NFKC"], text: str) -> str:
    """As unicodedata.normalize, which sorts the marks of a letter by insertion: 16,000 of them took 0.2 s."""
    if text.isascii():
        return text
    decomposed: Literal["NFD", "NFKD"] = "NFD" if form == "NFC" else "NFKD"

    def in_order(match: re.Match[str]) -> str:
        marks = "".join(unicodedata.normalize(decomposed, mark) for mark in match[0])
        runs = groupby(marks, key=lambda mark: unicodedata.combining(mark) > 0)
        return "".join("".join(sorted(run, key=unicodedata.combining) if is_mark else run) for is_mark, run in runs)

    return unicodedata.normalize(form, _MARK_RUN.sub(in_order, text))
