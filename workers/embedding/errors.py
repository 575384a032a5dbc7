"""What an embedding provider can answer instead of vectors."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shared.errors import MemhubError

_WORD = re.compile(r"[A-Za-z0-9_.-]{1,64}")


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


def word(told: object, texts: Sequence[str] = ()) -> str | None:
    """A provider's code for what went wrong, which an error may repeat; None for what may be anything else.

    What a provider says in sentences may quote what it was sent, and reasons are kept and shown to whoever looks after
    the fleet: so does a code that stands in one of the `texts`.
    """
    code = str(told) if isinstance(told, str | int) else ""
    quoted = any(code.casefold() in text.casefold() for text in texts)
    return code if _WORD.fullmatch(code) and not quoted else None
