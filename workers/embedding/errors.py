"""What an embedding provider can answer instead of vectors."""

from __future__ import annotations

from shared.errors import MemhubError


class EmbeddingUnavailable(MemhubError):
    """The provider could not be reached, was busy or broke; the same texts may work later."""

    code = "EMBEDDING_UNAVAILABLE"
    retryable = True


class EmbeddingRefused(MemhubError):
    """The provider understood and refused, or answered something that is not what was asked."""

    code = "EMBEDDING_REFUSED"


class EmbeddingStopped(MemhubError):
    """The process is stopping; what was left of the texts was not embedded."""

    code = "EMBEDDING_STOPPED"
    retryable = True
