"""Names of embedding models, as settings, database and endpoint write them, and what a model answers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

PACKAGED_MODEL = "memhub/minilm-int8"
PACKAGED_DIMENSION = 384

Vector = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """The model that search uses now: vectors of any other are never compared with its own."""

    name: str
    dimension: int


class Reason(StrEnum):
    """Why a search has no vector; the words that its `degraded` shows."""

    ABSENT = "embedder_absent"
    SLOW = "embedder_slow"
    FAILED = "embedder_failed"
    OTHER_MODEL = "embedder_serves_another_model"


@dataclass(frozen=True, slots=True)
class Absent:
    """`gives` is the dimension of what was answered by the model's name, where it is another than the model's."""

    reason: Reason
    gives: int | None = None
