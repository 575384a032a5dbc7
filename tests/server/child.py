"""The real stdio server over the in-memory backend, with handles for a test to hold it by.

MEMHUB_TEST_DATABASE: the database is there when this file is. A memory `slow` waits in its write for the file
`go` beside it and then makes the file `written`; `noisy` prints to stdout in every way there is; `bug` crashes.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio

from server import stdio, wire
from shared import logs, settings
from shared.errors import BackendUnavailable
from tests.server.memory import InMemory, with_project

DATABASE = Path(os.environ["MEMHUB_TEST_DATABASE"])


class Child(InMemory):
    async def remember(self, connection: Any, scope: Any, author: Any, request: Any) -> Any:
        match request.content:
            case "slow":
                (DATABASE.parent / "begun").touch()
                while not (DATABASE.parent / "go").exists():
                    await anyio.sleep(0.01)
                (DATABASE.parent / "written").touch()
            case "noisy":
                print("a library prints")
                sys.stdout.flush()
                os.write(1, b"raw bytes on fd 1\n")
                subprocess.run(["/bin/echo", "a child prints"], check=True)
            case "bug":
                raise RuntimeError("the text of this exception quotes a memory")
        return await super().remember(connection, scope, author, request)


async def opener() -> Child:
    if not DATABASE.exists():
        raise BackendUnavailable("The database cannot be reached.", next="Start it and call again.")
    return Child(slugs=with_project().slugs)


if __name__ == "__main__":
    claimed = wire.claim()
    loaded = settings.load()
    logs.configure(loaded.log_level)
    stdio.run(loaded, wire=claimed, opener=opener)
