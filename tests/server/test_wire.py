"""The two descriptors of the protocol, as somebody else may have left them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

_ECHO = """
from server import wire
held = wire.claim()
line = held.read()
assert held.write(line * 100_000), "given up"
"""


def test_descriptors_that_do_not_block_are_no_end() -> None:
    # Fails without set_blocking in `claim`: an empty pipe was the end of input, a full one a reader who had gone.
    to_child, from_us = os.pipe()
    from_child, to_us = os.pipe()
    os.set_blocking(to_child, False)
    os.set_blocking(to_us, False)
    child = subprocess.Popen([sys.executable, "-c", _ECHO], stdin=to_child, stdout=to_us)
    os.close(to_child)
    os.close(to_us)
    timer = threading.Timer(0.5, os.write, (from_us, b"hello\n"))
    timer.start()
    with os.fdopen(from_child, "rb") as answer:
        assert answer.read() == b"hello\n" * 100_000
    assert child.wait() == 0
    timer.join()
    os.close(from_us)
