"""A running server whose embedded database and worker were killed together."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import psutil
import pytest

from shared.embedded import stop
from tests.server.processes import INITIALIZE, PRODUCT, running
from tests.server.test_end_to_end import answered

REVIVED_S = 60


@pytest.mark.timeout(180)
def test_a_server_brings_back_what_was_killed_beside_it(tmp_path: Path) -> None:
    """Fails without the look for BackendUnavailable in Postgres.connection."""
    data_dir = tmp_path / "data"
    try:
        with running(tmp_path, PRODUCT, MEMHUB_DATA_DIR=str(data_dir), MEMHUB_DATABASE_URL="") as raw:
            raw.send(INITIALIZE, {"jsonrpc": "2.0", "method": "notifications/initialized"})
            raw.answer("init")
            raw.call("use", "project_use", project="app", create=True)
            assert not raw.result("use").get("isError"), raw.result("use")
            answered(raw, "memory_remember", content="Kept through it all.")
            _kill_beside(data_dir)
            deadline = time.monotonic() + REVIVED_S
            number = 0
            while True:
                number += 1
                raw.call(f"try {number}", "memory_search", query="kept")
                answer = raw.result(f"try {number}")
                if not answer.get("isError"):
                    break
                assert "BACKEND_UNAVAILABLE" in answer["content"][0]["text"]
                assert time.monotonic() < deadline, answer
            assert [hit["content"] for hit in answer["structuredContent"]["results"]] == ["Kept through it all."]
    finally:
        _kill_beside(data_dir, database=False)
        stop(data_dir)


def _kill_beside(data_dir: Path, *, database: bool = True) -> None:
    """The worker that was detached, and with it the database's own processes."""
    for process in psutil.process_iter(["cmdline", "environ"]):
        if "--detached" in (process.info["cmdline"] or ()) and (process.info["environ"] or {}).get(
            "MEMHUB_DATA_DIR"
        ) == str(data_dir):
            process.kill()
    if database:
        os.kill(int((data_dir / "postgres" / "postmaster.pid").read_text().split()[0]), signal.SIGQUIT)
