"""`memhub up`: the processes of the Procfile and the embedded database, one terminal, one end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any

from honcho import manager
from honcho.environ import parse_procfile
from honcho.printer import Message, Printer

from ops import ports
from ops.looking import looking
from ops.programs import procfile, program
from shared import api_tokens
from shared.embedded import stop_if_idle
from shared.errors import MemhubError
from shared.fleet import is_worker_alive, shown_alive
from shared.opening import attach
from shared.settings import Settings

# Longer than each process takes to finish what it has in hand.
KILL_S = 25
HOST = "127.0.0.1"
WEB = "web"
_LEVELS_OF_WHAT_IS_WELL = ("debug", "info")
_ASKED_TO_END = (128 + signal.SIGINT, 128 + signal.SIGTERM)


class ProcessEnded(MemhubError):
    """A process ended that was to run until Ctrl-C."""

    code = "PROCESS_ENDED"


@dataclass(frozen=True, slots=True)
class Access:
    """Who may call the server, and how a client is connected to it."""

    who: str
    options: str = ""


def up(settings: Settings, *, port: int) -> None:
    """Runs until Ctrl-C or SIGTERM, then ends all and stops the embedded database if nobody else uses it.

    Raises ProcessEnded when one of the processes ends by itself, ConfigurationError for a port that is taken, and what
    opening the database raises.
    """
    _require_free(port)
    embedded = settings.database_url is None
    place = f"embedded, in {settings.data_dir}" if embedded else "the one of MEMHUB_DATABASE_URL"
    print(f"Opening the database: {place}", flush=True)
    with ExitStack() as lease:
        if embedded:
            attach(settings, lease)
            if is_worker_alive(settings.data_dir):
                print("A client's server has started a worker already: it works beside these and outlives them.")
            # From before the first of ours lives: a web server that is up sooner would start one that outlives them.
            lease.enter_context(shown_alive(settings.data_dir))
        status = _run(port, _Board(place, asyncio.run(_access(settings))))
    if embedded:
        print(_left(settings))
    if status not in _ASKED_TO_END:
        raise ProcessEnded(f"A process ended by itself with status {status}.", next="Its last lines say why.")


def _require_free(port: int) -> None:
    with socket.socket() as probe:
        # As the server itself binds: the connections that a last one left in TIME_WAIT do not take the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as failure:
            raise ports.refused(HOST, port, failure) from None


async def _access(settings: Settings) -> Access:
    """Brings an embedded database to this program's schema, too."""
    async with looking(settings) as connection:
        locked = await api_tokens.any_exist(connection)
    if settings.api_key is not None:
        # Not the key, which opens every tenant, into the file of a client.
        return Access("MEMHUB_API_KEY, or a token", ' --token "$(memhub token create)"')
    if locked or settings.oauth_issuer is not None:
        return Access("a token (memhub token create)", " --token TOKEN")
    return Access("everybody on this machine, until you make a token (memhub token create)")


def _left(settings: Settings) -> str:
    """Stops the embedded database where it is ours to stop, and says what became of it."""
    if is_worker_alive(settings.data_dir):
        return "The database goes on: the worker of a client's server uses it, and stops it when nobody does."
    if stop_if_idle(settings.data_dir):
        return "The database is stopped."
    return "The database goes on: another process of memhub uses it."


def _run(port: int, board: _Board) -> int:
    manager.KILL_WAIT = KILL_S
    processes = _Manager(board)
    commands = parse_procfile(procfile()).processes
    for name, command in commands.items():
        processes.add_process(name, command, env=_environment(port))
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
    """Prints what people should read of the processes' lines, and where everything is once the server listens."""

    def __init__(self, database: str, access: Access) -> None:
        super().__init__(sys.stdout)
        self._database = database
        self._access = access
        self._chatty = bool(os.environ.get("MEMHUB_LOG_LEVEL"))

    def write(self, message: Message) -> None:
        logged = _logged(message.data)
        if self._shows(logged):
            super().write(message)
        if message.name == WEB and logged.get("event") == "http_listening":
            self._tell(int(logged["port"]))
        self.output.flush()

    def _shows(self, logged: Mapping[str, Any]) -> bool:
        """Not what is well, which would carry the board away; nor who may call, which the board says better."""
        quiet = logged.get("level") in _LEVELS_OF_WHAT_IS_WELL and not self._chatty
        return not quiet and logged.get("event") != "http_without_key"

    def _tell(self, port: int) -> None:
        server = f"http://{HOST}:{port}"
        lines = ["memhub is up; Ctrl-C ends it.", f"  database   {self._database}", f"  MCP        {server}/mcp"]
        lines.append(f"  dashboard  {server}/ops")
        lines.append(f"  access     {self._access.who}")
        lines.append(f"  connect    memhub connect claude-code --http {server}/mcp{self._access.options}")
        lines.append(
            "  projects   calls that name none share the project default; add --memory-project NAME to connect"
        )
        if not self._chatty:
            lines.append("  logs       warnings and errors; MEMHUB_LOG_LEVEL=INFO memhub up shows all")
        self.output.write("\n" + "\n".join(lines) + "\n\n")


def _logged(line: bytes | str) -> Mapping[str, Any]:
    """The fields of a line that a process of memhub has logged; none for any other line."""
    with suppress(ValueError):
        logged = json.loads(line)
        if isinstance(logged, dict):
            return logged
    return {}
