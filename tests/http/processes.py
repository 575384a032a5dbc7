"""Real server processes on ports of their own, every wait bounded."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests import forked
from tests.server.processes import PRODUCT, environment

WAIT_S = 120.0
PRODUCT_HTTP = (*PRODUCT, "--http")

Popen = subprocess.Popen[str] | forked.Forked


class Process:
    """One server; `events` is every line of its log that was looked at."""

    def __init__(self, process: Popen) -> None:
        self.process = process
        self.events: list[dict[str, Any]] = []
        self.port = 0
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._drain, daemon=True)
        self._reader.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def event(self, name: str, **fields: Any) -> dict[str, Any]:
        """The first event of that name and those fields, waiting for it."""
        wanted = {"event": name, **fields}
        for seen in self.events:
            if wanted.items() <= seen.items():
                return seen
        while (line := self._lines.get(timeout=WAIT_S)) is not None:
            event: dict[str, Any] = json.loads(line)
            self.events.append(event)
            if wanted.items() <= event.items():
                return event
        raise AssertionError(f"the server ended without {wanted}: {self.events}")

    def log(self) -> str:
        """All that an ended server wrote."""
        self._reader.join(WAIT_S)
        lines = [json.dumps(event) for event in self.events]
        while (line := self._lines.get(timeout=WAIT_S)) is not None:
            lines.append(line)
        return "\n".join(lines)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(WAIT_S)
        self._reader.join(WAIT_S)
        assert self.process.stderr is not None
        self.process.stderr.close()

    def _drain(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._lines.put(line)
        self._lines.put(None)


@contextmanager
def serving(
    folder: Any,
    *arguments: str,
    files_max: str | None = None,
    program: Sequence[str] | None = None,
    **settings: str,
) -> Iterator[Process]:
    """A server that listens: forked, or a new interpreter where a `program` is named."""
    wished = ("--http", "--port", "0", *arguments) if program is None else ("--port", "0", *arguments)
    with started(folder, wished, files_max=files_max, program=program, **settings) as process:
        process.port = process.event("http_listening")["port"]
        yield process


@contextmanager
def started(
    folder: Any,
    arguments: Sequence[str],
    *,
    files_max: str | None = None,
    program: Sequence[str] | None = None,
    **settings: str,
) -> Iterator[Process]:
    environ = environment(folder, **settings)
    del environ["MEMHUB_PROJECT"]
    if program is None:
        begun: Popen = _forked(arguments, env=environ, cwd=folder, files_max=files_max)
    else:
        assert files_max is None
        begun = subprocess.Popen(
            [sys.executable, *program, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=environ,
            cwd=folder,
        )
    process = Process(begun)
    try:
        yield process
    finally:
        process.close()


def _forked(arguments: Sequence[str], *, env: Mapping[str, str], cwd: Path, files_max: str | None) -> forked.Forked:
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as stderr, Path(os.devnull).open("r+b") as nothing:
        process = forked.start(
            "server.main",
            ["memhub-server", *arguments],
            env=env,
            cwd=cwd,
            stdin=nothing.fileno(),
            stdout=nothing.fileno(),
            stderr=stderr.fileno(),
            files_max=None if files_max is None else int(files_max),
        )
    process.stderr = os.fdopen(reading, encoding="utf-8")
    return process
