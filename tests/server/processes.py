"""Real server processes on raw pipes, every wait bounded."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
WAIT_S = 120.0
CHILD = ("-m", "tests.server.child")
PRODUCT = ("-c", "from server.main import main; main()")
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": "init",
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "raw-client", "version": "1"},
    },
}


class Raw:
    """One server process; `lines` is all that ever came out of its stdout."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.lines: list[bytes] = []
        self._rest = b""
        assert process.stdout is not None
        assert process.stdin is not None
        self._stdout, self._stdin = process.stdout.fileno(), process.stdin
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._stdout, selectors.EVENT_READ)

    def send(self, *messages: dict[str, Any] | bytes) -> None:
        for message in messages:
            line = message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
            self._stdin.write(line)
        self._stdin.flush()

    def call(self, request_id: int | str, tool: str, **arguments: Any) -> None:
        params = {"name": tool, "arguments": arguments}
        self.send({"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params})

    def answer(self, request_id: int | str | None) -> dict[str, Any]:
        """The answer to that request, reading on until it comes; every line on the way must be JSON-RPC."""
        for seen in self.lines:
            if (message := _json_rpc(seen)).get("id") == request_id:
                return message
        deadline = time.monotonic() + WAIT_S
        while (line := self._line(deadline)) is not None:
            if (message := _json_rpc(line)).get("id") == request_id:
                return message
        raise AssertionError(f"no answer to {request_id!r}")

    def result(self, request_id: int | str) -> dict[str, Any]:
        result: dict[str, Any] = self.answer(request_id)["result"]
        return result

    def close_stdin(self) -> None:
        self._stdin.close()

    def ended(self) -> int:
        """Its exit status, after reading what was left."""
        deadline = time.monotonic() + WAIT_S
        while (line := self._line(deadline)) is not None:
            _json_rpc(line)
        return self.process.wait(WAIT_S)

    def stderr(self) -> str:
        assert self.process.stderr is not None
        return self.process.stderr.read().decode()

    def _line(self, deadline: float) -> bytes | None:
        while b"\n" not in self._rest:
            if not self._selector.select(max(0, deadline - time.monotonic())):
                raise AssertionError("the server said nothing in time")
            chunk = os.read(self._stdout, 65_536)
            if not chunk:
                assert not self._rest, "the last line was cut"
                return None
            self._rest += chunk
        line, self._rest = self._rest.split(b"\n", 1)
        self.lines.append(line)
        return line

    def close(self) -> None:
        self._selector.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(WAIT_S)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            try:
                stream.close()
            except BrokenPipeError:
                continue


@contextmanager
def running(folder: Path, program: tuple[str, ...] = CHILD, **settings: str) -> Iterator[Raw]:
    raw = Raw(
        subprocess.Popen(
            [sys.executable, *program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(folder, **settings),
            cwd=folder,
        )
    )
    try:
        yield raw
    finally:
        raw.close()


def environment(folder: Path, **settings: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "MEMHUB_DATA_DIR": str(folder / "data"),
        "MEMHUB_PROJECT": "app",
        "TEST_DATABASE": str(folder / "database"),
        **settings,
    }


def _json_rpc(line: bytes) -> dict[str, Any]:
    message: dict[str, Any] = json.loads(line)
    assert message["jsonrpc"] == "2.0"
    assert "method" in message or "id" in message
    return message
