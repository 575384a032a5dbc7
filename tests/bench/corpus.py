"""Texts that nobody wrote: words as frequent as in a language, the same in every run."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import accumulate

SEED = 20260801
VOCABULARY = 8_000
WORDS_MIN, WORDS_MAX = 20, 60
QUERY_WORDS = 4

_SYLLABLES = (
    "ba",
    "co",
    "di",
    "fe",
    "gu",
    "ka",
    "lo",
    "mi",
    "ne",
    "pu",
    "ra",
    "so",
    "ti",
    "vu",
    "xe",
    "dor",
    "lin",
    "mar",
)


def texts(count: int) -> Iterator[str]:
    dice = random.Random(SEED)
    words, weights = _vocabulary()
    for number in range(count):
        drawn = dice.choices(words, cum_weights=weights, k=dice.randint(WORDS_MIN, WORDS_MAX))
        yield f"{' '.join(drawn).capitalize()}, as said in ticket {number}."


def queries(count: int) -> list[str]:
    """Some words of one text each, in their order: common ones and rare ones as they come."""
    dice = random.Random(SEED + 1)
    sources = [text.split(",")[0].lower().split() for text in texts(count)]
    return [" ".join(dice.sample(words, QUERY_WORDS)) for words in sources]


def _vocabulary() -> tuple[list[str], list[float]]:
    dice = random.Random(SEED)
    words: dict[str, None] = {}
    while len(words) < VOCABULARY:
        words["".join(dice.choices(_SYLLABLES, k=dice.randint(2, 4)))] = None
    return list(words), list(accumulate(1 / rank for rank in range(1, VOCABULARY + 1)))
