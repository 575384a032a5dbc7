"""Runs in a process of its own: has imported the programs once, and forks for each one that a test starts.

What a test asks for comes as one message with four descriptors: standard input, output and error, and a socket for the
process id and then the exit status. The end of the asking ends it.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import resource
import signal
import socket
import struct
import sys
from pathlib import Path
from typing import Any

MESSAGE_BYTES_MAX = 1 << 17
NUMBER = struct.Struct("i")

# With these root reads and writes everything.
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1, 2
CAPABILITIES_V3, PR_CAPBSET_DROP = 0x20080522, 24

# No module among them may start a thread: a fork has the one that forked and no other.
IMPORTED = (
    "ops.backup", "ops.calibrate", "ops.cli", "ops.connecting.command", "ops.doctor", "ops.export", "ops.gc",
    "ops.jobs", "ops.migrate", "ops.purge", "ops.reembed", "ops.status", "ops.token", "server.http.serving",
    "server.main",
)  # fmt: skip


def main() -> None:
    asking = socket.socket(fileno=int(sys.argv[1]))
    for name in IMPORTED:
        importlib.import_module(name)
    assert len(list(Path("/proc/self/task").iterdir())) == 1
    # What is here stays: a collection in a fork would copy its pages.
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while (asked := socket.recv_fds(asking, MESSAGE_BYTES_MAX, 4))[0]:
        if os.fork() == 0:
            asking.close()
            _attend(json.loads(asked[0]), asked[1])
            return
        for descriptor in asked[1]:
            os.close(descriptor)


def _attend(wish: dict[str, Any], descriptors: list[int]) -> None:
    """The program in a fork; beside it, this one waits for its end and tells."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    *streams, told = descriptors
    if (pid := os.fork()) == 0:
        os.close(told)
        _run(wish, streams)
        return
    for stream in streams:
        os.close(stream)
    os.write(told, NUMBER.pack(pid))
    os.write(told, NUMBER.pack(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])))
    os._exit(0)


def _run(wish: dict[str, Any], streams: list[int]) -> None:
    for place, stream in enumerate(streams):
        os.dup2(stream, place)
        os.close(stream)
    os.chdir(wish["cwd"])
    os.environ.clear()
    os.environ.update(wish["env"])
    if not wish["privileged"]:
        _give_up_privilege()
    if wish["files_max"] is not None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wish["files_max"], wish["files_max"]))
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)
    sys.argv = wish["argv"]
    importlib.import_module(wish["module"]).main()


def _give_up_privilege() -> None:
    """From now on the kernel refuses it others' folders as it refuses anybody, and whatever it starts."""
    libc = ctypes.CDLL(None, use_errno=True)
    header, sets = (ctypes.c_uint32 * 2)(CAPABILITIES_V3, 0), (ctypes.c_uint32 * 6)()
    failed = libc.capget(header, sets)
    for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
        failed |= libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
        for place in range(3):  # effective, permitted, inheritable
            sets[place] &= ~(1 << capability)
    failed |= libc.capset(header, sets)
    assert not failed, os.strerror(ctypes.get_errno())


if __name__ == "__main__":
    main()
