"""Notices that the folder of a database was taken from its place, and ends the server that went with it."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from shared.embedded import folder, postmaster
from shared.embedded.account import runtime_account

if TYPE_CHECKING:
    import psutil


class GroundWatch:
    """What a process that looks after a database remembers of it: deleted or moved, its server goes on elsewhere."""

    def __init__(self, data_dir: Path) -> None:
        self._cluster = folder.locate(data_dir).cluster
        self._ground: tuple[int, int] | None = None
        self._server: psutil.Process | None = None

    @property
    def server_pid(self) -> int | None:
        """The server that goes with the folder; the last one where none is in it now."""
        return None if self._server is None else self._server.pid

    def look(self) -> bool:
        """True when the folder is another than at the last look; the server of that one is then asked to end."""
        ground = folder.identity(self._cluster)
        if ground is None and self._may_be_there():
            return False
        taken = self._ground is not None and ground != self._ground
        self._ground = ground
        if taken and self._server is not None:
            self._end(self._server)
        self._find()
        return taken

    def _may_be_there(self) -> bool:
        """True where the folder could not be looked at, which says nothing of it."""
        try:
            os.stat(self._cluster)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            pass
        return True

    def _find(self) -> None:
        """Remembers the server that is in the folder now, which may be another than at the last look."""
        import psutil  # noqa: PLC0415 - half the import time of this package

        with suppress(psutil.Error, OSError):
            pid = postmaster.find(self._cluster, runtime_account())
            if pid is not None:
                self._server = psutil.Process(pid)

    def _end(self, server: psutil.Process) -> None:
        """By its start time it is known to be the same process still."""
        import psutil  # noqa: PLC0415 - as above

        with suppress(psutil.Error):
            server.send_signal(signal.SIGINT)
