"""What connecting a client refuses."""

from __future__ import annotations

from pathlib import Path

from shared.errors import MemhubError

MEND = "Mend the file, then run it again; nothing was changed."


class ClientFileRefused(MemhubError):
    """A client's file that cannot be read, understood or written; it was left as it is."""

    code = "CLIENT_FILE"

    def __init__(self, path: Path, problem: str, *, next: str = MEND) -> None:
        super().__init__(f"{path}: {problem}.", next=next)


class Malformed(ValueError):
    """A text that is not of its format; the message says where."""
