"""Programs of memhub as processes forked from one that has imported them: 0.05 s of processor time each, not 0.5 to 1.

What a test is about when it starts a program for its start, its descriptors or its signals needs a new interpreter.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from tests.forkserver import NUMBER

ROOT = Path(__file__).parents[1]
END_S = 60
_ONE_AT_A_TIME = threading.Lock()


class Forked:
    """A running program, with the part of subprocess.Popen that tests use."""

    def __init__(self, told: socket.socket, stderr: IO[str] | None) -> None:
        self._told = told
        self.stderr = stderr
        self.returncode: int | None = None
        self.args = "forked"
        self.pid = self._number(None)

    def poll(self) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            self.returncode = self._number(timeout)
            self._told.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            # It may have ended, and what tells its end not yet have told it.
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _number(self, timeout: float | None) -> int:
        self._told.settimeout(timeout)
        try:
            told = self._told.recv(NUMBER.size)
        except (BlockingIOError, TimeoutError):
            raise subprocess.TimeoutExpired(self.args, timeout or 0) from None
        assert told, "what forks the programs ended"
        number: int = NUMBER.unpack(told)[0]
        return number


def start(
    module: str,
    arguments: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    stdin: int,
    stdout: int,
    stderr: int,
    files_max: int | None = None,
    privileged: bool = True,
) -> Forked:
    """`module.main()` with those arguments, the program's own name first. The descriptors stay the caller's.

    Without privilege root may enter no folder of somebody else.
    """
    ours, theirs = socket.socketpair()
    wish = {
        "module": module,
        "argv": [*arguments],
        "env": dict(env),
        "cwd": str(cwd),
        "files_max": files_max,
        "privileged": privileged or os.geteuid() != 0,
    }
    with theirs, _ONE_AT_A_TIME:
        socket.send_fds(_server(), [json.dumps(wish).encode()], [stdin, stdout, stderr, theirs.fileno()])
    return Forked(ours, None)


def run(
    module: str,
    arguments: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    timeout: float,
    stdin: str = "",
    privileged: bool = True,
) -> subprocess.CompletedProcess[str]:
    """As subprocess.run, with what it printed."""
    with ExitStack() as files:
        given, out, err = (files.enter_context(TemporaryFile("w+", encoding="utf-8")) for _ in range(3))
        given.write(stdin)
        given.seek(0)
        process = start(
            module,
            arguments,
            env=env,
            cwd=cwd,
            stdin=given.fileno(),
            stdout=out.fileno(),
            stderr=err.fileno(),
            privileged=privileged,
        )
        try:
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        for file in (out, err):
            file.seek(0)
        told = [file.read() for file in (out, err)]
    return subprocess.CompletedProcess(list(arguments), status, *told)


@functools.cache
def _server() -> socket.socket:
    ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMHUB_")}
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "tests.forkserver", str(theirs.fileno())],
            env=kept | {"PYTHONPATH": str(ROOT)},
            cwd=ROOT,
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
        )
    atexit.register(_end, ours, process)
    return ours


def _end(asking: socket.socket, process: subprocess.Popen[bytes]) -> None:
    asking.close()
    process.wait(END_S)
