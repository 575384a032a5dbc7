"""Scripts that need more than a split at white space: grams where no spaces are, and accents folded."""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

from shared.composing import composed

# Letters of scripts in which a mark belongs to its word, though Python's \w leaves it out.
MARKS = (
    r"\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc"
    r"\u0900-\u0963\u0966-\u0dff"
)

_ZERO_WIDTH = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")
_INVISIBLE = str.maketrans({"\u200b": " ", **dict.fromkeys("\u00ad\u200c\u200d\u2060\ufeff")})
_UNSPACED = re.compile(
    "(?P<han>[\u2e80-\u2fdf\u3005-\u3007\u3105-\u312f\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U000323af]+)"
    "|(?P<hiragana>[\u3041-\u309f]+)"
    "|(?P<katakana>[\u30a1-\u30ff\u31f0-\u31ff]+)"
    "|(?P<hangul>[\u1100-\u11ff\u3130-\u318f\uac00-\ud7af]+)"
    "|(?P<other>[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+)"
)
_CLUSTER = re.compile(
    ".[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u102b-\u103e\u1056-\u1059\u17b4-\u17d3]*"
)
_KOREAN_PARTICLE = re.compile("(?<=..)[은는이가을를에의로와과도만]$")
_FOLDED_MARKS = re.compile("[\u0300-\u036f\u0591-\u05bd\u064b-\u0652]")
_FOLDED_LETTERS = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "ł": "l", "ı": "i", "þ": "th", "ħ": "h"}
)
_SPELLED_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})


def prepared(text: str) -> str:
    """The text in NFKC without invisible characters: what is only written otherwise is found alike."""
    if text.isascii():
        return text
    normal = composed("NFKC", text)
    return normal.translate(_INVISIBLE) if _ZERO_WIDTH.search(normal) else normal


def split_unspaced(token: str) -> list[tuple[str, str]]:
    """The runs of a token with their script; `spaced` for what needs no grams."""
    if token.isascii():
        return [("spaced", token)]
    runs: list[tuple[str, str]] = []
    end = 0
    for match in _UNSPACED.finditer(token):
        runs.append(("spaced", token[end : match.start()]))
        runs.append((str(match.lastgroup), match[0]))
        end = match.end()
    runs.append(("spaced", token[end:]))
    return [run for run in runs if run[1]]


def document_grams(script: str, run: str) -> list[str]:
    """Pairs, and each character alone where one character can be a word."""
    grams = _pairs(run)
    return [*grams, *run] if script in ("han", "hangul") and len(run) > 1 else grams


def query_grams(script: str, run: str) -> list[str]:
    return _pairs(_KOREAN_PARTICLE.sub("", run) if script == "hangul" else run)


def spellings(word: str) -> tuple[str, ...]:
    """The lower-case word, without its accents, and with ä, ö, ü, ß spelled out; each once."""
    if word.isascii():
        return (word,)
    spelled_out = word.translate(_SPELLED_OUT)
    forms = (word, folded(word)) if spelled_out == word else (word, folded(word), folded(spelled_out))
    return tuple(dict.fromkeys(filter(None, forms)))


def folded(word: str) -> str:
    if word.isascii():
        return word
    bare = _FOLDED_MARKS.sub("", unicodedata.normalize("NFD", word))
    return unicodedata.normalize("NFC", bare).translate(_FOLDED_LETTERS)


def _pairs(run: str) -> list[str]:
    clusters = _CLUSTER.findall(run)
    return [first + second for first, second in pairwise(clusters)] or clusters
