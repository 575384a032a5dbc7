"""A fake embedder: speaks the provider interface, says which texts it was given, and can be held or made to fail."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence

import numpy as np

from workers.embedding import tokens
from workers.embedding.embedder import Purpose, Vectors, normalised

HELD_S_MAX = 240
DIMENSION = 8


class FakeEmbedder:
    """Vectors that follow from the text alone. While `gate` is closed, `embed` waits inside."""

    window_tokens = 256
    batch_texts_max = 8
    queries_at_once = 1

    def __init__(self, name: str = "fake", dimension: int = DIMENSION) -> None:
        self.name = name
        self.dimension = dimension
        self.texts: list[str] = []
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Event()
        self.fail: Callable[[Sequence[str]], None] = lambda _: None

    def embed(self, texts: Sequence[str], *, purpose: Purpose) -> Vectors:
        self.entered.set()
        assert self.gate.wait(HELD_S_MAX)
        self.fail(texts)
        self.texts += texts
        return fake_vectors(texts, self.dimension)

    def token_starts(self, text: str) -> list[int]:
        return tokens.approximate_starts(text)

    def close(self) -> None:
        self.gate.set()


def fake_vectors(texts: Sequence[str], dimension: int = DIMENSION) -> Vectors:
    digests = [hashlib.sha256(text.encode()).digest()[:dimension] for text in texts]
    return normalised(np.array([[byte + 1.0 for byte in digest] for digest in digests]))
