"""What tells apart two memories of nearly the same words: their figures, their identifiers, what they deny; pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

# Separators and word characters exclude each other: a text is scanned once.
_TOKEN = re.compile(r"(?P<sign>[-+−<>≤≥$€£¥]{0,2})(?P<said>\w+(?:[.,:/\\@#+'’-]+\w+)*)%?")
_OPENING = re.compile(r"(?:^|[.!?:;\n])[\W_]*\Z")
_OPENING_CHARACTERS_MAX = 8
_JOINED = re.compile(r"[./:\\@#+_]")

_DENIED = "not"
# English, and the commonest of the languages that screening knows too.
_DENYING = """
    no not never none nor neither nothing nobody nowhere without cannot non
    nicht kein keine keinen keinem keiner nie niemals ohne weder pas jamais sans aucun aucune ni
    nunca sin ningún ninguna ninguno não nem sem nenhum nenhuma geen niet nooit zonder mai senza bez не нет без
"""
_DENIALS = frozenset(_DENYING.split())
# Without one of them, or with its opposite, a sentence of the same words says something else.
_DECIDING = """
    off true false enable enabled disable disabled allow allowed deny denied forbid forbidden before after except
    unless only always optional required minimum maximum least most
"""
_TURNING = frozenset(_DECIDING.split())


def particulars(content: str) -> tuple[str, ...]:
    """In the order of the text: figures with their sign, identifiers and names as they are written, denials alike."""
    return tuple(_particulars(content))


def _particulars(content: str) -> Iterator[str]:
    for token in _TOKEN.finditer(content):
        said = token["said"]
        lowered = said.lower()
        if lowered in _DENIALS or lowered.endswith(("n't", "n’t")):
            yield _DENIED
        elif any(map(str.isdigit, said)):
            yield token[0].lower()
        elif lowered in _TURNING:
            yield lowered
        elif _JOINED.search(said) or _is_name(content, token.start("said"), said):
            yield said


def _is_name(content: str, start: int, said: str) -> bool:
    """A word with a capital that does not merely open a sentence."""
    if said == said.lower():
        return False
    return said[1:] != said[1:].lower() or not _OPENING.search(content, max(0, start - _OPENING_CHARACTERS_MAX), start)
