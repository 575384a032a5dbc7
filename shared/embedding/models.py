"""Names of embedding models, as settings, database and endpoint write them."""

from __future__ import annotations

from dataclasses import dataclass

PACKAGED_MODEL = "memhub/minilm-int8"


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """The model that search uses now: vectors of any other are never compared with its own."""

    name: str
    dimension: int
