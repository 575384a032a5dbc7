"""Connections that send nothing, and callers that take all: the others are served all the same."""

from __future__ import annotations

import resource
import select
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import asyncpg
import httpx2
import pytest

from shared import api_tokens
from tests.http.callers import RawClient, raw_client
from tests.http.conftest import KEY
from tests.http.processes import WAIT_S, Process, serving

FILES_MAX = 200
CROWD = 400
HALF = b"GET /livez HTTP/1.1\r\nHost: 127.0"
BODY_TO_COME = (
    b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json, text/event-stream\r\n"
    b"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
)
UNREACHABLE = "postgresql://nobody@127.0.0.1:1/none"


def test_a_crowd_of_silent_connections_keeps_nobody_out_and_the_log_short(tmp_path: Path) -> None:
    wished = {"MEMHUB_HTTP_REQUEST_HEAD_TIMEOUT_S": "600", "MEMHUB_DATABASE_URL": UNREACHABLE, "MEMHUB_API_KEY": KEY}
    with serving(tmp_path, files_max=str(FILES_MAX), **wished) as process:
        with _crowd(process, [b"", HALF] * (CROWD // 2)):
            assert _lives(process)
        assert _lives(process)
        process.process.terminate()
        lines = process.log().splitlines()
    assert any("http_connections_full" in line for line in lines)
    assert len(lines) < 50


@pytest.mark.parametrize("sent", [b"", HALF, b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" + HALF])
def test_a_connection_without_a_whole_request_head_is_closed_in_time(tmp_path: Path, sent: bytes) -> None:
    wished = {"MEMHUB_HTTP_REQUEST_HEAD_TIMEOUT_S": "1", "MEMHUB_DATABASE_URL": UNREACHABLE}
    with serving(tmp_path, **wished) as process, _connected(process) as connection:
        head, half = sent[: -len(HALF)], sent[-len(HALF) :]
        if head:
            connection.sendall(head)
            assert connection.recv(4096).startswith(b"HTTP/1.1 200")
        connection.sendall(half)
        _await_end(connection)


def test_a_request_may_take_longer_than_its_head(tmp_path: Path, database_url: str) -> None:
    wished = {"MEMHUB_HTTP_REQUEST_HEAD_TIMEOUT_S": "1", "MEMHUB_DATABASE_URL": database_url}
    with serving(tmp_path, **wished) as process, _connected(process) as slow:
        slow.sendall(BODY_TO_COME)
        with _connected(process) as silent:
            _await_end(silent)
        slow.sendall(b" " * 999)
        assert slow.recv(4096).startswith(b"HTTP/1.1 4")


@pytest.mark.parametrize("drops", [0, 50], ids=["silent", "dripping"])
def test_a_body_that_never_ends_is_refused_in_time(tmp_path: Path, database_url: str, drops: int) -> None:
    """Fails without _body in server/http/connections.py."""
    wished = {"MEMHUB_HTTP_STALL_TIMEOUT_S": "0.3", "MEMHUB_DATABASE_URL": database_url}
    with serving(tmp_path, **wished) as process, _connected(process) as slow:
        slow.sendall(BODY_TO_COME)
        for _ in range(drops):
            if select.select([slow], [], [], 0.02)[0]:
                break
            slow.sendall(b" ")
        assert slow.recv(4096).startswith(b"HTTP/1.1 408")
        assert process.event("http_stalled")["waited_for"] == "body"
        assert _lives(process)
        process.process.terminate()
        assert "Traceback" not in process.log()


def test_an_answer_that_nobody_takes_is_given_up(tmp_path: Path, database_url: str) -> None:
    """Fails without _answer in server/http/connections.py."""
    wished = {"MEMHUB_HTTP_STALL_TIMEOUT_S": "0.3", "MEMHUB_DATABASE_URL": database_url}
    with serving(tmp_path, **wished) as process, socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.settimeout(WAIT_S)
        deaf.connect(("127.0.0.1", process.port))
        asked = b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        # The system takes some megabytes off the server before it has to wait.
        with suppress(OSError):
            deaf.sendall(asked * 2_000)
        assert process.event("http_stalled")["waited_for"] == "answer"
        assert _lives(process)


def test_where_every_connection_has_a_request_the_next_is_refused_at_once(tmp_path: Path, database_url: str) -> None:
    wished = {"MEMHUB_HTTP_REQUEST_HEAD_TIMEOUT_S": "600", "MEMHUB_HTTP_STALL_TIMEOUT_S": "600"}
    with serving(tmp_path, files_max=str(FILES_MAX), MEMHUB_DATABASE_URL=database_url, **wished) as process:
        with _crowd(process, [BODY_TO_COME] * FILES_MAX) as crowd:
            bound = process.event("http_connections_full")["connections"]
            held = set(crowd)
            while len(held) > bound:
                ended, _, _ = select.select(held, [], [], WAIT_S)
                assert ended, "more connections are open than the bound"
                held -= set(ended)
            with _connected(process) as late:
                assert late.recv(4096).startswith(b"HTTP/1.1 503")
        assert _lives(process)


def test_a_process_without_files_says_so_once_and_serves_when_it_has_some(tmp_path: Path) -> None:
    with serving(tmp_path, MEMHUB_DATABASE_URL=UNREACHABLE, MEMHUB_API_KEY=KEY) as process:
        resource.prlimit(process.process.pid, resource.RLIMIT_NOFILE, (40, 40))
        with _crowd(process, [b""] * 60):
            assert process.event("http_accept_failed")["error"] == "OSError"
        assert _lives(process)
        process.process.terminate()
        assert len(process.log().splitlines()) < 50


async def test_one_caller_cannot_take_the_sessions_of_the_others(
    tmp_path: Path, database_url: str, connection: asyncpg.Connection
) -> None:
    greedy, modest = [
        (await api_tokens.create(connection, tenant, name="test")).secret for tenant in ("greedy", "modest")
    ]
    wished = {"MEMHUB_HTTP_SESSIONS_MAX": "15", "MEMHUB_HTTP_SESSIONS_PER_CALLER_MAX": "3"}
    with serving(tmp_path, MEMHUB_DATABASE_URL=database_url, MEMHUB_API_KEY=KEY, **wished) as process:
        async with raw_client(process.url, "2025-11-25") as raw:
            opened = [await _opened(raw, greedy) for _ in range(15)]
            assert [status for status, _session in opened] == [200] * 3 + [503] * 12
            assert (await _opened(raw, modest))[0] == 200
            assert [(await _opened(raw, KEY))[0] for _ in range(5)] == [200] * 5
            raw.headers, raw.session = [("Authorization", f"Bearer {greedy}")], opened[0][1]
            assert (await raw.http.delete("/mcp", headers=raw.all_headers())).status_code == 200
            assert [(await _opened(raw, greedy))[0] for _ in range(2)] == [200, 503]


async def _opened(raw: RawClient, secret: str) -> tuple[int, str | None]:
    raw.headers, raw.session = [("Authorization", f"Bearer {secret}")], None
    return (await raw.open()).status_code, raw.session


@contextmanager
def _connected(process: Process) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", process.port), timeout=WAIT_S) as connection:
        yield connection


@contextmanager
def _crowd(process: Process, words: Sequence[bytes]) -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        crowd = []
        for sent in words:
            crowd.append(stack.enter_context(_connected(process)))
            # One that was refused at once cannot be written to.
            with suppress(OSError):
                crowd[-1].sendall(sent)
        yield crowd


def _lives(process: Process) -> bool:
    return httpx2.get(f"{process.url}/livez", timeout=WAIT_S).status_code == 200


def _await_end(connection: socket.socket) -> None:
    try:
        while connection.recv(4096):
            continue
    except ConnectionResetError:
        return
