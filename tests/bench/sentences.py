"""Texts that somebody wrote: paragraphs of docstrings, of Python's own library and of what is installed beside it."""

from __future__ import annotations

import ast
import random
import re
import sysconfig
import warnings
from collections.abc import Iterator
from pathlib import Path

SEED = 20260801
CHARS_MIN, CHARS_MAX = 60, 400
WORDS_MIN = 9
FILE_BYTES_MAX = 300_000

_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")
_MARKUP = re.compile(r">>>|::|^\s*[-=~*+|:@#.]|\bTrue\b.*\bFalse\b.*=|^\s*\w+\s*:\s*\w", re.MULTILINE)
_SPACES = re.compile(r"\s+")
_WORD = re.compile(r"[A-Za-z]{2,}")


def gathered(count: int) -> list[str]:
    """At most that many, all different, in an order that depends on nothing but the files of this Python."""
    found: dict[str, None] = {}
    for file in _files():
        for text in _paragraphs(file):
            found.setdefault(text)
        if len(found) >= count:
            break
    return list(found)[:count]


def _files() -> list[Path]:
    places = [Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib")]
    files = {file for place in places for file in place.rglob("*.py") if file.stat().st_size <= FILE_BYTES_MAX}
    ordered = sorted(files)
    random.Random(SEED).shuffle(ordered)
    return ordered


def _paragraphs(file: Path) -> Iterator[str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for paragraph in _BLANK_LINE.split(ast.get_docstring(node) or ""):
                if not _MARKUP.search(paragraph) and _is_prose(text := _SPACES.sub(" ", paragraph).strip()):
                    yield text


def _is_prose(text: str) -> bool:
    return CHARS_MIN <= len(text) <= CHARS_MAX and text.isprintable() and len(_WORD.findall(text)) >= WORDS_MIN
