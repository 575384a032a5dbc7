"""What every embedding provider looks like to the rest of the fleet."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]

REMOTE_QUERIES_AT_ONCE = 16
"""Of a provider behind a network: with 100 ms each that is 160 queries a second, where one lane gave ten."""


class Purpose(StrEnum):
    """Some models embed a question otherwise than the text that answers it."""

    DOCUMENT = "document"
    QUERY = "query"


class Embedder(Protocol):
    """One loaded model. `embed` blocks, and threads may call it at once: `queries_at_once` and one for bulk."""

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    @property
    def window_tokens(self) -> int:
        """How many tokens of one text the model reads well, its own special tokens included."""
        ...

    @property
    def batch_texts_max(self) -> int:
        """How many texts one call of `embed` takes."""
        ...

    @property
    def queries_at_once(self) -> int:
        """How many calls of `embed` for queries are worth running side by side: waiting is, computing is not."""
        ...

    def embed(self, texts: Sequence[str], *, purpose: Purpose) -> Vectors:
        """Unit vectors, float32[len(texts), dimension], in the order of the texts.

        Raises EmbeddingUnavailable, EmbeddingRefused.
        """
        ...

    def token_starts(self, text: str) -> list[int]:
        """The character at which each token of the text begins, ascending, none twice."""
        ...

    def close(self) -> None:
        """Lets go of connections, where there are any."""
        ...


def normalised(rows: npt.ArrayLike) -> Vectors:
    """float32[n, dim] scaled to unit length. Raises ValueError for a row of zeros, or with a number that is none."""
    with np.errstate(over="ignore"):  # an infinity is refused below
        vectors = np.array(rows, dtype=np.float32)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not ((norms > 0) & np.isfinite(norms)).all():
        raise ValueError("a vector points nowhere")
    vectors /= norms
    return vectors
