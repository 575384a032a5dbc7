"""All processes of the Procfile from one terminal, against a database of their own."""

from __future__ import annotations

import contextlib
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import psutil
import pytest

from shared import embedded, fleet
from shared.settings import Settings
from tests.ops.conftest import Installation
from tests.ports import free_port

WAIT_S = 120.0


class Up:
    """A running `memhub up`; `lines` is what it printed."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[str] = []
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout:
            for line in self.process.stdout:
                with self._news:
                    self.lines.append(line)
                    self._news.notify_all()

    def end(self) -> None:
        """Kills what is left of it and its children."""
        if self.process.poll() is None:
            for member in psutil.Process(self.process.pid).children(recursive=True):
                member.kill()
            self.process.kill()
        self.process.wait(WAIT_S)
        self._reader.join(WAIT_S)

    def until(self, text: str) -> None:
        with self._news:
            seen = self._news.wait_for(lambda: any(text in line for line in self.lines), timeout=WAIT_S)
        assert seen, "".join(self.lines)


@pytest.fixture
def data_dir() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="mh-", dir="/tmp"))
    yield folder / "data"
    embedded.stop(folder / "data")
    shutil.rmtree(folder)


def _ready(port: int) -> dict[str, str]:
    """What the probe tells once the database answered it in time."""
    deadline = time.monotonic() + WAIT_S
    while (answer := httpx2.get(f"http://127.0.0.1:{port}/readyz", timeout=WAIT_S)).status_code == 503:
        assert time.monotonic() < deadline, answer.text
    told: dict[str, str] = answer.json()
    return told


@contextlib.contextmanager
def _up(installation: Installation, data_dir: Path, port: int, **settings: str) -> Iterator[Up]:
    process = subprocess.Popen(
        [installation.programs / "memhub", "up", "--port", str(port)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=installation.project,
        env=installation.environment(
            {"MEMHUB_DATA_DIR": str(data_dir), "MEMHUB_EMBEDDING_PROVIDER": "none"} | settings
        ),
        start_new_session=True,
    )
    up = Up(process)
    try:
        yield up
    finally:
        up.end()


def test_everything_starts_says_where_it_is_and_ends_at_ctrl_c(installation: Installation, data_dir: Path) -> None:
    port = free_port()
    with _up(installation, data_dir, port) as up:
        up.until("memhub is up")
        up.until(f"http://127.0.0.1:{port}/mcp")
        up.until(f"embedded, in {data_dir}")
        assert _ready(port)["database"] == "ok"
        family = psutil.Process(up.process.pid).children(recursive=True)
        names = " ".join(" ".join(member.cmdline()) for member in family)
        for part in ("memhub-server --http", "--queues embed", "--queues counters,retention"):
            assert part in names
        up.process.send_signal(signal.SIGINT)
        assert up.process.wait(WAIT_S) == 0, "".join(up.lines)
        _gone, alive = psutil.wait_procs(family, timeout=WAIT_S)
        assert alive == []
    assert not embedded.is_running(data_dir)


def test_a_process_that_ends_by_itself_ends_the_others_with_a_line_that_says_so(
    installation: Installation, data_dir: Path
) -> None:
    with _up(installation, data_dir, free_port()) as up:
        up.until("memhub is up")
        family = psutil.Process(up.process.pid).children(recursive=True)
        next(member for member in family if "--http" in member.cmdline()).kill()
        assert up.process.wait(WAIT_S) == 1
        up.until("memhub: A process ended by itself")
        assert psutil.wait_procs(family, timeout=WAIT_S)[1] == []
    assert not embedded.is_running(data_dir)


def test_a_port_that_is_taken_is_told_before_anything_starts(installation: Installation, data_dir: Path) -> None:
    # Fails without `_require_free`.
    with socket.create_server(("127.0.0.1", 0)) as taken, _up(installation, data_dir, taken.getsockname()[1]) as up:
        assert up.process.wait(WAIT_S) == 1
        up.until("memhub: Port")
    assert len(up.lines) == 1
    assert not data_dir.exists()


def test_the_board_stays_in_sight_and_says_who_may_call(installation: Installation, data_dir: Path) -> None:
    # Fails without `_shows`, which keeps away what is well and a line about keys that is not true any more.
    environment = {"MEMHUB_DATA_DIR": str(data_dir)}
    made = installation.run("token", "create", "--tenant", "acme", environment=environment)
    assert made.returncode == 0
    with _up(installation, data_dir, free_port()) as up:
        up.until("access     a token")
        up.until("/mcp --token TOKEN")
        # It comes as a surprise to who connects a second repository.
        up.until("calls that name none share the project default; add --memory-project NAME")
        up.process.send_signal(signal.SIGINT)
        assert up.process.wait(WAIT_S) == 0, "".join(up.lines)
        up.until("The database is stopped.")
    assert not [line for line in up.lines if '"level":"info"' in line or "http_without_key" in line]


def test_the_key_of_the_operator_is_not_advised_for_a_client(installation: Installation, data_dir: Path) -> None:
    with _up(installation, data_dir, free_port(), MEMHUB_API_KEY="the-key") as up:
        up.until("access     MEMHUB_API_KEY, or a token")
        up.until('/mcp --token "$(memhub token create)"')
        up.process.send_signal(signal.SIGINT)
        assert up.process.wait(WAIT_S) == 0, "".join(up.lines)
    assert "$MEMHUB_API_KEY" not in "".join(up.lines)


def test_what_a_client_s_server_started_outlives_it_and_that_is_said(
    installation: Installation, data_dir: Path
) -> None:
    # Fails without the look for a worker in `_left`: its database would be stopped under it.
    settings = Settings(data_dir=data_dir, embedding_provider="none")
    embedded.ensure_running(data_dir)
    assert fleet.ensure_worker(data_dir, settings)
    try:
        with _up(installation, data_dir, free_port()) as up:
            up.until("A client's server has started a worker already")
            up.until("memhub is up")
            up.process.send_signal(signal.SIGINT)
            assert up.process.wait(WAIT_S) == 0, "".join(up.lines)
            up.until("The database goes on: the worker of a client's server uses it")
        assert embedded.is_running(data_dir)
        assert fleet.is_worker_alive(data_dir)
    finally:
        end_worker(data_dir)


def end_worker(data_dir: Path) -> None:
    for process in psutil.process_iter(["cmdline", "environ"]):
        mine = (process.info["environ"] or {}).get("MEMHUB_DATA_DIR") == str(data_dir)
        if mine and "--detached" in (process.info["cmdline"] or ()):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
                process.wait(WAIT_S)


def test_ctrl_c_before_all_have_started_leaves_nothing(installation: Installation, data_dir: Path) -> None:
    # Without _Manager.terminate honcho raises here, and what it had started goes on.
    with _up(installation, data_dir, free_port()) as up:
        up.until("started (pid=")
        family = psutil.Process(up.process.pid).children(recursive=True)
        up.process.send_signal(signal.SIGINT)
        assert up.process.wait(WAIT_S) == 0, "".join(up.lines)
        assert psutil.wait_procs(family, timeout=WAIT_S)[1] == []
