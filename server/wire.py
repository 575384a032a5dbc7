"""The two descriptors of the protocol, taken out of everyone else's reach."""

from __future__ import annotations

import contextlib
import fcntl
import os
from dataclasses import dataclass

_FIRST_PRIVATE = 3


@dataclass(frozen=True, slots=True)
class Wire:
    stdin: int
    stdout: int

    def read(self) -> bytes:
        """The next bytes, blocking; empty at the end of input."""
        try:
            return os.read(self.stdin, 65_536)
        except OSError:
            return b""

    def write(self, line: bytes) -> bool:
        """Write all of it, blocking; False when nobody reads any more."""
        view = memoryview(line)
        while view:
            try:
                view = view[os.write(self.stdout, view) :]
            except OSError:
                return False
        return True


def claim() -> Wire:
    """Move the protocol to private descriptors, blocking whatever whoever opened them made of them.

    Afterwards stdin is empty and stdout is stderr for every library, print and child process.
    """
    _ensure_standard()
    wire = Wire(
        stdin=fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, _FIRST_PRIVATE),
        stdout=fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, _FIRST_PRIVATE),
    )
    os.set_blocking(wire.stdin, True)
    os.set_blocking(wire.stdout, True)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    return wire


def _ensure_standard() -> None:
    for descriptor in (0, 1, 2):
        with contextlib.suppress(OSError):
            os.fstat(descriptor)
            continue
        os.open(os.devnull, os.O_RDWR)
