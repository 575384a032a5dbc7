"""What tests start their programs with."""

from __future__ import annotations

import os
import socket

from tests.forked import Forked
from tests.forkserver import NUMBER


def test_a_program_whose_end_is_not_yet_told_is_ended_in_peace() -> None:
    """Fails without suppress in Forked.send_signal: who waits for its log goes on before its end is told."""
    if (ended := os.fork()) == 0:
        os._exit(0)
    os.waitpid(ended, 0)
    ours, theirs = socket.socketpair()
    with theirs:
        theirs.sendall(NUMBER.pack(ended))
        program = Forked(ours, None)
        assert program.poll() is None
        program.kill()
        theirs.sendall(NUMBER.pack(0))
        assert program.wait(1) == 0
