"""Characters that show nothing or reorder what is shown, written out where a person or a model reads a text."""

from __future__ import annotations

import re
from functools import cache

# Controls but tab and line ends, what Unicode calls default ignorable, and the formats of bidi and annotation.
_UNSEEN = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
# Hebrew, Arabic, the scripts of India and of South-East Asia, Mongolian: letters that join, or words without spaces.
_JOINING = (
    "\u0590-\u061b\u061d-\u109f\u1780-\u17b3\u17b6-\u180a\u1810-\u1cff\ua800-\uabff\ufb1d-\ufdff\ufe70-\ufefc"
    "\U00010a00-\U00011fff\U0001e900-\U0001e95f"
)
_JOINERS = "\u034f\u180b-\u180f\u200b-\u200d"
_PICTURES = "\xa9\xae\u203c\u2049\u2100-\u214f\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_HAN = "\u3001-\u303f\u3400-\u9fff\uf900-\ufaff\uff01-\uff60\U00020000-\U0003ffff"
_MARKS = "\u061c\u200e\u200f"
_RIGHT_TO_LEFT = re.compile(
    "[\u0590-\u061b\u061d-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
)

# The flags of England, Scotland and Wales; others are in no font, and their tags can say anything.
_FLAGS = tuple(
    "\U0001f3f4" + "".join(chr(0xE0000 + ord(letter)) for letter in place) + "\U000e007f"
    for place in ("gbeng", "gbsct", "gbwls")
)
# Each keeps one character beside what it belongs to: of a run the rest is written out.
_BELONGING = (
    *_FLAGS,
    f"(?<=[{_JOINING}])[{_JOINERS}]",
    f"[{_JOINERS}](?=[{_JOINING}])",
    f"(?<=[{_PICTURES}\ufe0f])\u200d(?=[{_PICTURES}])",
    f"(?<=[{_PICTURES}{_HAN}{_JOINING}])[\ufe00-\ufe0f]",
    "(?<=[0-9#*])\ufe0f(?=\u20e3)",
    f"(?<=[{_HAN}])[\U000e0100-\U000e01ef]",
    r"(?<=[^\W\d_])\xad(?=[^\W\d_])",
)


_SUSPECT = re.compile(f"[{_UNSEEN}]")


def visible(text: str) -> str:
    r"""The text with what hides in it written out, such as \u{e0041}; what its script or an emoji needs stays.

    Tag characters and variation selectors spell sentences that only a model reads; embeddings, overrides and isolates
    (Boucher and Anderson, Trojan Source) make a person read another order. Marks of direction stay where there is a
    letter of Hebrew or Arabic.
    """
    if _SUSPECT.search(text) is None:
        return text
    return _pattern(among_right_to_left=_RIGHT_TO_LEFT.search(text) is not None).sub(_written, text)


@cache
def _pattern(*, among_right_to_left: bool) -> re.Pattern[str]:
    """Made when first needed: that takes 16 ms, which a hook of plain text does not pay."""
    marks = (f"(?<![{_MARKS}])[{_MARKS}]",) if among_right_to_left else ()
    # The look ahead comes first: it is all that most places cost.
    return re.compile(f"(?=[{_UNSEEN}\U0001f3f4])(?:(?P<belongs>{'|'.join((*_BELONGING, *marks))})|[{_UNSEEN}])")


def _written(found: re.Match[str]) -> str:
    return found[0] if found["belongs"] else f"\\u{{{ord(found[0]):x}}}"
