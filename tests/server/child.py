"""The real stdio server over the in-memory backend, with handles for a test to hold it by.

The database is there when the file TEST_DATABASE is; while `broken` is beside it, opening it meets a bug. A memory
`slow` makes the file `begun` beside it, waits in its write for `go` and then makes `written`; `noisy` prints to
stdout; `bug` crashes.
"""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import Any

import anyio

from server import stdio, wire
from shared import logs, settings
from shared.errors import BackendUnavailable
from tests.server.memory import InMemory, with_project

DATABASE = Path(os.environ["TEST_DATABASE"])


class Child(InMemory):
    async def remember(self, connection: Any, scope: Any, author: Any, request: Any) -> Any:
        match request.content:
            case "slow":
                begun, go, written = (DATABASE.with_name(name) for name in ("begun", "go", "written"))
                await anyio.to_thread.run_sync(begun.touch)
                await anyio.to_thread.run_sync(_wait_for, go, abandon_on_cancel=True)
                await anyio.to_thread.run_sync(written.touch)
            case "noisy":
                _print_everywhere()
            case "bug":
                raise RuntimeError("the text of this exception quotes a memory")
            case _:
                pass
        return await super().remember(connection, scope, author, request)


def _wait_for(file: Path) -> None:
    while not file.exists():
        time.sleep(0.01)


def _print_everywhere() -> None:
    print("a library prints", flush=True)
    os.write(1, b"raw bytes on fd 1\n")
    subprocess.run(["/bin/echo", "a child prints"], check=True)


async def opener() -> Child:
    if os.path.exists(DATABASE.with_name("broken")):  # noqa: ASYNC240
        raise RuntimeError("the text of this exception quotes a memory")
    if not os.path.exists(DATABASE):  # noqa: ASYNC240
        raise BackendUnavailable("The database cannot be reached.", next="Start it and call again.")
    return Child(slugs=with_project().slugs)


if __name__ == "__main__":
    claimed = wire.claim()
    loaded = settings.load()
    logs.configure(loaded.log_level)
    stdio.run(loaded, wire=claimed, opener=opener)
