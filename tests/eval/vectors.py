"""The vectors of the graded set by the packaged model, kept in a build folder from run to run."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from shared.domain import MemoryType
from tests.eval.graded import GradedMemory
from workers.embedding.embedder import Purpose, Vectors
from workers.embedding.local import LocalEmbedder, load
from workers.embedding.packaged import SHA256
from workers.embedding.texts import RevisionText, embedded_texts

KEPT = Path(__file__).parents[2] / "build" / "eval"


class Embeddings:
    """Loads the model, and its tokenizer, only where a text has no kept vector or must be cut."""

    def __init__(self, folder: Path = KEPT) -> None:
        self._file = folder / f"vectors-{SHA256[:12]}.npz"
        self._kept: dict[str, Vectors] = {}
        self._fresh = False
        self._embedder: LocalEmbedder | None = None
        if self._file.exists():
            with np.load(self._file) as kept:
                self._kept = dict(zip(kept["keys"].tolist(), kept["vectors"], strict=True))

    @property
    def embedder(self) -> LocalEmbedder:
        if self._embedder is None:
            self._embedder = load(None, cache=self._file.parent, threads=1)
        return self._embedder

    def of_memory(self, memory: GradedMemory) -> Vectors:
        return self.of_texts(self.texts_of(memory), Purpose.DOCUMENT)

    def texts_of(self, memory: GradedMemory) -> list[str]:
        """What the embedder reads of it."""
        revision = RevisionText(
            content=memory.content,
            type=MemoryType(memory.type),
            category=memory.category,
            tags=memory.tags,
            written_on=memory.created_at.date(),
        )
        return embedded_texts(revision, embedder=self.embedder)

    def of_texts(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        """Unit vectors, float32[len(texts), dimension]."""
        keys = [hashlib.sha256(f"{purpose}\0{text}".encode()).hexdigest() for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._kept}
        if missing:
            # Batches of texts of like length are half as fast again.
            absent = sorted(missing, key=lambda key: len(missing[key]))
            made = self.embedder.embed([missing[key] for key in absent], purpose=purpose)
            self._kept.update(zip(absent, made, strict=True))
            self._fresh = True
        return np.stack([self._kept[key] for key in keys])

    def keep(self) -> None:
        if self._fresh:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            np.savez(self._file, keys=np.array(list(self._kept)), vectors=np.stack(list(self._kept.values())))
