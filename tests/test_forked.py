"""What tests start their programs with."""

from __future__ import annotations

import os
import socket
from typing import NoReturn

import pytest

from tests.forked import Forked
from tests.forkserver import NUMBER


def gone(_pid: int, _number: int) -> NoReturn:
    raise ProcessLookupError


def test_a_program_whose_end_is_not_yet_told_is_ended_in_peace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails without suppress in Forked.send_signal: who waits for its log goes on before its end is told."""
    monkeypatch.setattr(os, "kill", gone)
    ours, theirs = socket.socketpair()
    with theirs:
        # No process has this number: what the test asks for reaches nobody.
        theirs.sendall(NUMBER.pack(2**31 - 1))
        program = Forked(ours, None)
        assert program.poll() is None
        program.kill()
        theirs.sendall(NUMBER.pack(0))
        assert program.wait(1) == 0
