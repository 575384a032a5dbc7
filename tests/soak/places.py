"""A server over HTTP on its own embedded database with its own fleet; everything is gone afterwards."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2

from shared import embedded
from shared.fleet import is_worker_alive
from tests.http.processes import PRODUCT_HTTP, Process, serving

FLEET_S = 120.0


@contextmanager
def embedded_server(**settings: str) -> Iterator[tuple[Process, Path]]:
    """The server and its data folder; its log is read, so that it never waits for its reader."""
    folder = Path(tempfile.mkdtemp(prefix="mh-", dir="/tmp"))
    data_dir = folder / "data"
    try:
        with serving(folder, program=PRODUCT_HTTP, MEMHUB_WORKER_IDLE_S="1", **settings) as process:
            _await(lambda: httpx2.get(f"{process.url}/readyz", timeout=FLEET_S).json().get("fleet") == "alive")
            yield process, data_dir
        # One that outlives its folder would make a new database in it.
        _await(lambda: not is_worker_alive(data_dir))
    finally:
        embedded.stop(data_dir)
        shutil.rmtree(folder)


def _await(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + FLEET_S
    while not holds():
        assert time.monotonic() < deadline, "the fleet neither came nor went"
        time.sleep(0.1)
