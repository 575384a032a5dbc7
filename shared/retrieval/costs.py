"""Estimates how many tokens a text costs a model, never less than the tokenizers that we could count with."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

# Only the beginning of a run of letters looks for a digit behind it: where each piece of a run does so, 32,000 letters
# in camel case take 5.6 s instead of 0.02.
_PIECE = re.compile(
    r"(?P<mixed>(?:[0-9]++[A-Za-z]|(?<![A-Za-z])[A-Za-z]++[0-9])[A-Za-z0-9]*+)"
    r"|(?P<word>[A-Z]?[a-z]+)|(?P<capitals>[A-Z]+)|(?P<digits>[0-9]+)|(?P<space>[ \t]+)|(?P<newline>\n+)"
    r"|(?P<mark>[!-/:-@\[-`{-~]+)|(?P<accented>[\u00a1-\u024f]+)|(?P<greek>[\u0370-\u052f]+)"
    r"|(?P<semitic>[\u0530-\u077f]+)|(?P<han>[\u3400-\u9fff]+)|(?P<kana>[\u3040-\u30ff\uff66-\uff9d]+)"
    r"|(?P<hangul>[\uac00-\ud7af]+)|(?P<general>[\u2000-\u206f\u3000-\u303f\uff00-\uff65]+)"
    r"|(?P<symbol>[\u2070-\u2bff\ufe0f]+)|(?P<other>[\u0000-\uffff])|(?P<astral>[\U00010000-\U0010ffff]+)",
    re.DOTALL,
)

MARGIN = 1.5
WEIGHTS_KEPT_MAX = 1_024


@dataclass(frozen=True, slots=True)
class Estimate:
    """Tokens by weight in vocabularies of byte pairs (o200k, cl100k, Claude's published one) and of word pieces (BERT).

    Apart, because each is dear in what the other is cheap in: a text of both is dearest in one of them, not in the sum
    of the worst. To be summed over parts; `bound` of the sum is what is promised.
    """

    pairs: float
    pieces: float

    def __add__(self, other: Estimate) -> Estimate:
        return Estimate(self.pairs + other.pairs, self.pieces + other.pieces)

    def __mul__(self, times: int) -> Estimate:
        return Estimate(self.pairs * times, self.pieces * times)

    @property
    def dearest(self) -> float:
        return max(self.pairs, self.pieces)


NOTHING = Estimate(0.0, 0.0)

# The least weights that keep 245 texts of 600 to 2,500 characters at or above the dearest count of their kind: prose,
# code, JSON, identifiers, hexadecimal, numbers, summaries of packages in eight scripts, emoji. Of it the dearest
# count is .88 to .96 in prose, .93 in code, .94 to .99 in numbers, Chinese, Japanese, Korean, Russian and Arabic.
_EACH = {
    "newline": Estimate(0.22, 0.1),
    "mark": Estimate(0.8, 1.12),
    "accented": Estimate(1.8, 1.23),
    "greek": Estimate(0.61, 0.96),
    "semitic": Estimate(1.16, 0.99),
    "han": Estimate(1.21, 1.01),
    "kana": Estimate(1.04, 0.97),
    "hangul": Estimate(1.63, 2.21),
    "general": Estimate(0.9, 0.9),
    "symbol": Estimate(1.45, 1.4),
    "other": Estimate(1.86, 1.2),
    "astral": Estimate(3.2, 0.1),
}
_WORD_UP_TO = ((4, Estimate(1.02, 0.85)), (8, Estimate(1.1, 1.1)), (12, Estimate(2.02, 3.13)))
_LONG_WORD, _LETTER_MORE = Estimate(2.2, 3.13), 0.3
_CAPITALS, _CAPITAL_MORE = Estimate(1.2, 1.9), 0.29
_THREE_DIGITS, _DIGIT = Estimate(1.36, 0.8), Estimate(0.05, 0.27)
_MIXED, _CHARACTER = Estimate(0.3, 0.3), 0.72
_SPACE_MORE = 0.1

CHARACTERS_OF_A_TOKEN_MAX = 10
"""Of blanks, the cheapest."""


def estimate(text: str) -> Estimate:
    return total(_weight(piece.lastgroup, piece.end() - piece.start()) for piece in _PIECE.finditer(text))


def total(parts: Iterable[Estimate]) -> Estimate:
    told = list(parts)
    return Estimate(math.fsum([part.pairs for part in told]), math.fsum([part.pieces for part in told]))


def bound(estimated: Estimate) -> int:
    """Tokens that no counted tokenizer passed: a short text strays further from its class than a long one.

    Of 580 briefs of one to three memories in fourteen classes the dearest count strayed by 1.2 roots at most.
    """
    return math.ceil(estimated.dearest + MARGIN * math.sqrt(estimated.dearest))


@lru_cache(maxsize=WEIGHTS_KEPT_MAX)
def _weight(kind: str | None, length: int) -> Estimate:
    """Nearly all pieces are of some hundred kinds and lengths: a context of 2,000 tokens weighs 7,000 of them."""
    assert kind is not None
    match kind:
        case "word":
            return _word(length)
        case "digits":
            return _number(length)
        case "mixed":
            return _more(_MIXED, _CHARACTER * length)
        case "capitals":
            return _more(_CAPITALS, _CAPITAL_MORE * (length - 1))
        case "space":
            return _more(NOTHING, _SPACE_MORE * (length - 1))
        case _:
            return _EACH[kind] * length


def _word(letters: int) -> Estimate:
    for most, weight in _WORD_UP_TO:
        if letters <= most:
            return weight
    return _more(_LONG_WORD, _LETTER_MORE * (letters - _WORD_UP_TO[-1][0]))


def _number(digits: int) -> Estimate:
    groups = math.ceil(digits / 3)
    return Estimate(
        _THREE_DIGITS.pairs * groups + _DIGIT.pairs * digits, _THREE_DIGITS.pieces * groups + _DIGIT.pieces * digits
    )


def _more(weight: Estimate, tokens: float) -> Estimate:
    return Estimate(weight.pairs + tokens, weight.pieces + tokens)
