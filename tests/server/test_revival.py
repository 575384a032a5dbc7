"""A running server whose embedded database and worker were killed together."""

from __future__ import annotations

import os
import shutil
import signal
import time
from contextlib import suppress
from pathlib import Path

import psutil

from shared.embedded import stop
from tests.server.processes import INITIALIZE, PRODUCT, Raw, running
from tests.server.test_end_to_end import answered

REVIVED_S = 150


def begun(raw: Raw) -> str:
    """The outcome of the first call, which is asked to come again while a busy machine makes the database."""
    deadline = time.monotonic() + REVIVED_S
    number = 0
    while True:
        number += 1
        raw.call(f"use {number}", "project_use", project="app", create=True)
        answer = raw.result(f"use {number}")
        if not answer.get("isError"):
            outcome: str = answer["structuredContent"]["outcome"]
            return outcome
        assert answer["_meta"]["retryable"], answer
        assert time.monotonic() < deadline, answer
        time.sleep(1)


def test_a_server_brings_back_what_was_killed_beside_it(tmp_path: Path) -> None:
    """Fails without the look for BackendUnavailable in Postgres.connection."""
    data_dir = tmp_path / "data"
    try:
        with running(tmp_path, PRODUCT, MEMHUB_DATA_DIR=str(data_dir), MEMHUB_DATABASE_URL="") as raw:
            raw.send(INITIALIZE, {"jsonrpc": "2.0", "method": "notifications/initialized"})
            raw.answer("init")
            assert begun(raw) == "created"
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
                assert answer["_meta"]["retryable"], answer
                assert time.monotonic() < deadline, answer
            assert [hit["content"] for hit in answer["structuredContent"]["results"]] == ["Kept through it all."]
    finally:
        _kill_beside(data_dir, database=False)
        stop(data_dir)


def _delete(data_dir: Path) -> None:
    """What is at work in it, and makes files there, does not keep it."""
    deadline = time.monotonic() + REVIVED_S
    while data_dir.exists():
        assert time.monotonic() < deadline
        shutil.rmtree(data_dir, ignore_errors=True)


def _kill_beside(data_dir: Path, *, database: bool = True) -> None:
    """The worker that was detached, and with it the database's own processes."""
    workers = [
        process
        for process in psutil.process_iter(["cmdline", "environ"])
        if "--detached" in (process.info["cmdline"] or ())
        and (process.info["environ"] or {}).get("MEMHUB_DATA_DIR") == str(data_dir)
    ]
    for worker in workers:
        with suppress(psutil.NoSuchProcess):
            worker.kill()
    psutil.wait_procs(workers, timeout=REVIVED_S)
    if database:
        os.kill(int((data_dir / "postgres" / "postmaster.pid").read_text().split()[0]), signal.SIGQUIT)


def test_a_write_to_a_data_folder_that_was_deleted_is_never_called_done(tmp_path: Path) -> None:
    """Fails without the ground in opening.opened: PostgreSQL answers from deleted files for up to a minute."""
    data_dir = tmp_path / "data"
    where = {"MEMHUB_DATA_DIR": str(data_dir), "MEMHUB_DATABASE_URL": ""}
    with running(tmp_path, PRODUCT, **where) as raw:
        raw.send(INITIALIZE, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        raw.answer("init")
        assert begun(raw) == "created"
        # The session has its files open now, so that nothing of it needs a name.
        answered(raw, "memory_remember", content="Kept while the folder is there.")
        answered(raw, "memory_remember", content="This too.")
        postmaster = psutil.Process(int((data_dir / "postgres" / "postmaster.pid").read_text().split()[0]))
        _kill_beside(data_dir, database=False)
        _delete(data_dir)
        raw.call("lost", "memory_remember", content="Lost?")
        assert "The files of the database are gone" in raw.result("lost")["content"][0]["text"]
        postmaster.send_signal(signal.SIGQUIT)
        postmaster.wait(REVIVED_S)


def test_a_data_folder_that_was_deleted_is_told_and_the_next_start_begins_anew(tmp_path: Path) -> None:
    """Fails without the ground in opening.opened: calls told of a bug, the counting ended the server."""
    data_dir = tmp_path / "data"
    where = {"MEMHUB_DATA_DIR": str(data_dir), "MEMHUB_DATABASE_URL": "", "MEMHUB_STATS_FLUSH_S": "0.2"}
    with running(tmp_path, PRODUCT, **where) as raw:
        raw.send(INITIALIZE, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        raw.answer("init")
        assert begun(raw) == "created"
        postmaster = psutil.Process(int((data_dir / "postgres" / "postmaster.pid").read_text().split()[0]))
        _kill_beside(data_dir, database=False)
        _delete(data_dir)
        # On a connection that is open, of a table that was not touched yet.
        raw.call("gone", "memory_remember", content="Kept?")
        assert "The files of the database are gone" in raw.result("gone")["content"][0]["text"]
        # It would notice within a minute by itself.
        postmaster.send_signal(signal.SIGQUIT)
        postmaster.wait(REVIVED_S)
        raw.call("down", "memory_search", query="kept")
        assert "BACKEND_UNAVAILABLE" in raw.result("down")["content"][0]["text"]
        assert not (data_dir / "postgres").exists()
    try:
        with running(tmp_path, PRODUCT, **where) as raw:
            raw.send(INITIALIZE, {"jsonrpc": "2.0", "method": "notifications/initialized"})
            raw.answer("init")
            assert begun(raw) == "created"
    finally:
        _kill_beside(data_dir, database=False)
        stop(data_dir)
