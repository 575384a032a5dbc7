"""Texts of the classes that tokenizers treat differently."""

from __future__ import annotations

import re
from pathlib import Path
from uuid import UUID

from tests.eval.graded import GradedSet

ROOT = Path(__file__).parents[2]
CJK = re.compile("[\u3040-\u9fff\uac00-\ud7af]")
SENTENCE = re.compile("[^。.]{12,}[。.]")
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_0-9.]{7,}")


def samples() -> dict[str, list[str]]:
    """Contents of memories by class, each within the limits of the tool."""
    code = [path.read_text() for path in sorted((ROOT / "shared").rglob("*.py"))]
    identifiers = sorted({name for text in code for name in IDENTIFIER.findall(text)})
    contents = [memory.content for memory in GradedSet().memories]
    return {
        "prose": [content for content in contents if content.isascii()],
        "code": [text[start : start + 400].strip() for text in code for start in range(0, len(text) - 400, 1_600)],
        "identifiers": [" ".join(identifiers[start : start + 12]) for start in range(0, len(identifiers), 12)],
        "CJK": [part for content in contents if CJK.search(content) for part in (content, *SENTENCE.findall(content))],
        "emoji": [f"{_faces(number)} 👩‍👩‍👧‍👦 {_faces(number + 9)} 🏳️‍🌈👍🏽" for number in range(120)],
        "hexadecimal": [UUID(int=number * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128).hex for number in range(1, 120)],
        "numbers": [
            f"10.0.{number}.{number * 3} port {8_000 + number}, {number * 7.13:.3f} ms" for number in range(120)
        ],
    }


def _faces(number: int) -> str:
    return "".join(chr(0x1F300 + (number * 37 + place * 11) % 0x2FF) for place in range(8))
