"""Ports for programs that are told theirs before they listen."""

from __future__ import annotations

import random
import socket

# Below what the system gives to those who connect: one of those could take it before the program does.
_FIRST, _LAST = 15_000, 30_000
_TRIES_MAX = 1_000


def free_port() -> int:
    for port in random.sample(range(_FIRST, _LAST), _TRIES_MAX):
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return port
    raise AssertionError("no port is free")
