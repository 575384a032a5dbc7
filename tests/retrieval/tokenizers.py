"""The tokenizers that can be counted with: npm's, where node and the packages are, and the packaged model's own."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from tests import node
from workers.embedding.packaged import FOLDER

COUNTER = Path(__file__).parent / "count_tokens.cjs"
NAMES = ("o200k", "cl100k", "claude", "word pieces")


def counts(texts: Sequence[str]) -> list[tuple[int, ...]]:
    """Tokens of each text in NAMES; the test is skipped where node or its packages are missing."""
    program = shutil.which("node")
    if program is None or not all(
        (node.MODULES / name).exists() for name in ("gpt-tokenizer", "@anthropic-ai/tokenizer")
    ):
        pytest.skip("needs node, gpt-tokenizer and @anthropic-ai/tokenizer (npm install --prefix build/node)")
    ran = subprocess.run(
        [program, str(COUNTER)],
        input=json.dumps(list(texts)),
        env={"NODE_PATH": str(node.MODULES)},
        capture_output=True,
        text=True,
        check=True,
        timeout=180,
    )
    pieces = _word_pieces()
    return [
        (*told, len(pieces.encode(text, add_special_tokens=False).ids))
        for told, text in zip(json.loads(ran.stdout), texts, strict=True)
    ]


@cache
def _word_pieces() -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
    tokenizer.no_truncation()
    return tokenizer
