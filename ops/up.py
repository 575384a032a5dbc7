"""`memhub up`: the processes of the Procfile and the embedded database, one terminal, one end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from contextlib import ExitStack, suppress

from honcho import manager
from honcho.environ import parse_procfile
from honcho.printer import Message, Printer

from ops.programs import procfile, program
from shared.embedded import stop_if_idle
from shared.errors import MemhubError
from shared.opening import attach, prepare
from shared.settings import Settings

# Longer than each process takes to finish what it has in hand.
KILL_S = 25
HOST = "127.0.0.1"
WEB = "web"
_ASKED_TO_END = (128 + signal.SIGINT, 128 + signal.SIGTERM)


class ProcessEnded(MemhubError):
    """A process ended that was to run until Ctrl-C."""

    code = "PROCESS_ENDED"


def up(settings: Settings, *, port: int) -> None:
    """Runs until Ctrl-C or SIGTERM, then ends all and stops the embedded database if nobody else uses it.

    Raises ProcessEnded when one of the processes ends by itself, and what opening the database raises.
    """
    embedded = settings.database_url is None
    place = f"embedded, in {settings.data_dir}" if embedded else "the one of MEMHUB_DATABASE_URL"
    print(f"Opening the database: {place}", flush=True)
    with ExitStack() as lease:
        dsn = settings.direct_url or attach(settings, lease)
        asyncio.run(prepare(dsn, own=embedded))
        status = _run(port, _Board(place))
    if embedded:
        stop_if_idle(settings.data_dir)
    if status not in _ASKED_TO_END:
        raise ProcessEnded(f"A process ended by itself with status {status}.", next="Its last lines say why.")


def _run(port: int, board: _Board) -> int:
    manager.KILL_WAIT = KILL_S
    processes = _Manager(board)
    commands = parse_procfile(procfile()).processes
    # The web server last: it starts a worker of its own where none lives.
    for name in sorted(commands, key=lambda name: name == WEB):
        processes.add_process(name, commands[name], env=_environment(port))
    processes.loop()
    status: int = processes.returncode
    return status


def _environment(port: int) -> dict[str, str]:
    folders = {str(program(name).parent) for name in ("memhub-server", "memhub-worker")}
    return {**os.environ, "PATH": os.pathsep.join([*sorted(folders), os.environ.get("PATH", "")]), "PORT": str(port)}


class _Manager(manager.Manager):  # type: ignore[misc] # honcho has no types
    """Honcho's own fails on a Ctrl-C that comes before every process has told its id."""

    _postponed = False

    def terminate(self) -> None:
        if super()._all_started():
            super().terminate()
        else:
            self._postponed = True

    def _all_started(self) -> bool:
        started: bool = super()._all_started()
        if started and self._postponed:
            self._postponed = False
            super().terminate()
        return started


class _Board(Printer):  # type: ignore[misc]
    """Prints the lines of all processes, and where everything is once the server listens."""

    def __init__(self, database: str) -> None:
        super().__init__(sys.stdout)
        self._database = database

    def write(self, message: Message) -> None:
        super().write(message)
        if message.name == WEB and (port := _listening(message.data)):
            self._tell(port)
        self.output.flush()

    def _tell(self, port: int) -> None:
        server = f"http://{HOST}:{port}"
        lines = ["memhub is up; Ctrl-C ends it.", f"  database   {self._database}", f"  MCP        {server}/mcp"]
        lines.append(f"  dashboard  {server}/ops")
        lines.append(f"  connect    memhub connect claude-code --http {server}/mcp")
        self.output.write("\n" + "\n".join(lines) + "\n\n")


def _listening(line: bytes | str) -> int | None:
    """The port, when this line of the server's log says that it listens."""
    with suppress(ValueError):
        logged = json.loads(line)
        if isinstance(logged, dict) and logged.get("event") == "http_listening":
            return int(logged["port"])
    return None
