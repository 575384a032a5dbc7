"""The process of an HTTP server: how it starts, what its probes say, how it ends."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
import time
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
from sse_starlette.sse import AppStatus

from server.http import serving as serving_module
from server.http.connections import Connections
from shared.errors import ConfigurationError
from tests.http.callers import Era, client, plain, raw_client
from tests.http.conftest import KEY
from tests.http.processes import WAIT_S, Process, serving, started

UNREACHABLE = "postgresql://nobody@127.0.0.1:1/none"


async def test_a_memory_written_by_one_client_is_found_by_the_next(server: Process, era: Era) -> None:
    tenant = f"shared-{era}"
    async with client(server.url, era, tenant=tenant) as first:
        stored = await first.use("memory_remember", content="Pagination uses cursors.", type="DECISION")
    async with client(server.url, "2026-07-28", tenant=tenant) as second:
        found = await second.use("memory_search", query="pagination")
    assert [hit["memory_id"] for hit in found["results"]] == [stored["memory"]["memory_id"]]
    assert found["results"][0]["author_client"] == "raw-client"


async def test_handshake_and_listings_need_no_tenant_and_no_database(tmp_path: Path, era: Era) -> None:
    with serving(tmp_path, MEMHUB_DATABASE_URL=UNREACHABLE, MEMHUB_API_KEY=KEY) as process:
        async with client(process.url, era, key=KEY) as raw:
            for method in ("tools/list", "resources/list", "resources/templates/list"):
                assert "result" in (await raw.request(method, {})).json()
            refused = await raw.refused("memory_search", headers=[("X-Memory-Tenant", "t")])
    assert (refused["code"], refused["retryable"]) == ("BACKEND_UNAVAILABLE", True)


async def test_without_a_key_nobody_comes_in_while_it_is_not_known_whether_tokens_exist(
    tmp_path: Path, era: Era
) -> None:
    with serving(tmp_path, MEMHUB_DATABASE_URL=UNREACHABLE) as process:
        async with raw_client(process.url, era) as raw:
            refused = await raw.open()
    assert (refused.status_code, refused.json()["code"]) == (503, "BACKEND_UNAVAILABLE")
    assert int(refused.headers["retry-after"]) >= 1


async def test_probes_tell_a_process_that_lives_from_one_that_can_serve(tmp_path: Path, database_url: str) -> None:
    with serving(tmp_path, MEMHUB_DATABASE_URL=UNREACHABLE) as process:
        async with plain(process.url) as http:
            for path in ("/livez", "/health"):
                answer = await http.get(path)
                assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
            unready = await http.get("/readyz", timeout=WAIT_S)
    assert (unready.status_code, unready.json()["code"]) == (503, "BACKEND_UNAVAILABLE")
    operator = psycopg.connect(database_url, autocommit=True)
    with operator, serving(tmp_path, MEMHUB_DATABASE_URL=database_url) as process:
        async with plain(process.url) as http:
            ready = await probed(http)
            assert (ready.status_code, ready.json()["fleet"]) == (200, "absent")
            # Fails without MEMHUB_WORKER_SILENCE_S in fleet_is_alive, which called it alive for 45 s.
            operator.execute(
                "INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - interval '40 seconds')"
            )
            assert (await probed(http)).json()["fleet"] == "absent"
            operator.execute("INSERT INTO procrastinate_workers DEFAULT VALUES")
            assert (await probed(http)).json()["fleet"] == "alive"
            operator.execute("INSERT INTO memhub.schema_migrations VALUES (9999, 'later', repeat('0', 64), now())")
            moved = await probed(http)
    assert (moved.status_code, moved.json()["code"]) == (503, "SCHEMA_MISMATCH")


async def test_a_database_that_may_not_be_written_or_read_is_told_by_the_probe_and_to_callers(
    tmp_path: Path, database_url: str, era: Era
) -> None:
    # Fails without takes_no_writes in `health`, and without InsufficientPrivilegeError in `translated`.
    operator = psycopg.connect(database_url, autocommit=True)
    name = operator.info.dbname
    with operator, serving(tmp_path, MEMHUB_DATABASE_URL=database_url) as process:
        async with plain(process.url) as http, client(process.url, era, tenant="t") as raw:
            await raw.use("memory_remember", content="First.")
            assert (await probed(http)).status_code == 200

            operator.execute("REVOKE SELECT ON memhub.schema_migrations, memhub.live_memories FROM memhub_server")
            revoked = await probed(http)
            assert (revoked.status_code, revoked.json()["code"]) == (503, "BACKEND_UNAVAILABLE")
            assert "permission denied for table schema_migrations" in revoked.json()["message"]
            assert (await raw.refused("memory_search"))["code"] == "BACKEND_UNAVAILABLE"
            operator.execute("GRANT SELECT ON memhub.schema_migrations, memhub.live_memories TO memhub_server")
            assert (await probed(http)).status_code == 200

            operator.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
            operator.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            read_only = await probed(http)
            assert read_only.status_code == 503
            assert "read-only" in (await probed(http)).json()["message"]


async def probed(http: httpx2.AsyncClient) -> httpx2.Response:
    """What the probe tells of a database that it had the time to ask."""
    deadline = time.monotonic() + WAIT_S
    while "did not answer within" in (answer := await http.get("/readyz")).text:
        assert time.monotonic() < deadline
    return answer


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_a_signal_ends_the_process_in_time_and_with_success_under_open_streams(
    tmp_path: Path, database_url: str, number: signal.Signals
) -> None:
    """A stream that is cut instead of ended raises here: without `Sessions.close_streams`."""
    with serving(tmp_path, MEMHUB_DATABASE_URL=database_url) as process:
        async with client(process.url, "2025-11-25", tenant="t") as raw:
            async with raw.http.stream("GET", "/mcp", headers=raw.all_headers()) as opened:
                assert opened.status_code == 200
                process.process.send_signal(number)
                await opened.aread()
            status = await asyncio.to_thread(process.process.wait, WAIT_S)
    assert status == 0


async def test_a_write_in_flight_at_the_end_is_answered(tmp_path: Path, database_url: str, era: Era) -> None:
    with serving(tmp_path, MEMHUB_DATABASE_URL=database_url) as process, psycopg.connect(database_url) as holder:
        async with client(process.url, era, tenant="t") as raw:
            await raw.use("memory_remember", content="First.")
            holder.execute("LOCK TABLE memhub.memory_revisions IN EXCLUSIVE MODE")
            write = asyncio.create_task(raw.use("memory_remember", content="Second."))
            await _write_waits(holder)
            process.process.terminate()
            await asyncio.to_thread(process.event, "http_stopping")
            holder.rollback()
            assert (await write)["outcome"] == "created"
        assert await asyncio.to_thread(process.process.wait, WAIT_S) == 0


async def test_a_stalled_client_neither_holds_up_the_others_nor_the_end(
    tmp_path: Path, database_url: str, era: Era
) -> None:
    with (
        serving(tmp_path, MEMHUB_DATABASE_URL=database_url, MEMHUB_HTTP_STALL_TIMEOUT_S="600") as process,
        socket.create_connection(("127.0.0.1", process.port)) as stalled,
    ):
        stalled.sendall(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n{")
        async with client(process.url, era, tenant="t") as raw:
            assert (await raw.use("memory_search", query="anything"))["results"] == []
        process.process.terminate()
        assert await asyncio.to_thread(process.process.wait, WAIT_S) == 0


async def test_a_body_beyond_the_bound_is_refused_unread(server: Process, era: Era) -> None:
    async with raw_client(server.url, era) as raw:
        answer = await raw.http.post("/mcp", content=b"x" * 1_048_577, headers=raw.all_headers())
    assert answer.status_code == 413


def test_without_a_key_every_start_says_who_may_call(tmp_path: Path, database_url: str) -> None:
    with serving(tmp_path, MEMHUB_DATABASE_URL=database_url) as process:
        assert process.event("http_listening")["host"] == "127.0.0.1"
        assert "this machine only" in process.event("http_without_key")["message"]
    with serving(tmp_path, "--host", "0.0.0.0", MEMHUB_DATABASE_URL=database_url) as process:
        assert "EVERY machine" in process.event("http_without_key")["message"]


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("MEMHUB_ALLOWED_ORIGINS", "no-scheme.invalid"),
        ("MEMHUB_ALLOWED_HOSTS", "https://memory.example.com"),
        ("MEMHUB_API_KEY", "two words"),
        ("MEMHUB_OAUTH_ISSUER", "http://issuer.example.com"),
        ("MEMHUB_OAUTH_AUDIENCE", "without-issuer"),
        ("MEMHUB_RATE_LIMIT_PER_S", "-17"),
        ("MEMHUB_DATABASE_URL", "mysql://elsewhere"),
    ],
)
def test_bad_settings_are_named_before_the_port_is_bound(tmp_path: Path, setting: str, value: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = str(taken.getsockname()[1])
        with started(tmp_path, ("--http", "--port", port), **{setting: value}) as process:
            assert process.process.wait(WAIT_S) == 1
            process.events.clear()
            message = "".join(iter(lambda: process._lines.get(timeout=WAIT_S) or "", ""))
    assert setting in message
    assert value not in message
    assert "cannot be bound" not in message


def test_a_taken_port_is_told_in_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with started(tmp_path, ("--http", "--port", str(port)), MEMHUB_DATABASE_URL=UNREACHABLE) as process:
            assert process.process.wait(WAIT_S) == 1
            message = process.log()
    assert message.startswith(f"memhub-server: Port {port} of 127.0.0.1 cannot be bound")


@pytest.mark.parametrize("arguments", [("--port", "3000"), ("--host", "::1"), ("--http", "--port", "65536")])
def test_bad_usage_exits_with_2(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    with started(tmp_path, arguments) as process:
        assert process.process.wait(WAIT_S) == 2


async def _write_waits(holder: psycopg.Connection) -> None:
    deadline = time.monotonic() + WAIT_S
    waiting = "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'memhub.memory_revisions'::regclass"
    while not holder.execute(waiting).fetchall():
        assert time.monotonic() < deadline, "the write never came to wait for the lock"
        await asyncio.sleep(0.01)


def test_the_listener_names_its_protocol_so_that_answers_are_not_held_back() -> None:
    """asyncio switches Nagle's algorithm off for such sockets alone: 48 ms a call became 4."""
    with serving_module._bind("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP


def test_a_stop_is_heard_by_our_server_alone() -> None:
    """sse_starlette would cut the streams that we end; fails with uvicorn's own handle_exit as the handler."""
    missing: Any = None
    connections = Connections(maximum=1, head_s=1, stall_s=1)
    server = serving_module._Server(missing, missing, streams=(), credentials=missing, host="", connections=connections)
    before = {number: signal.getsignal(number) for number in serving_module._SIGNALS}
    try:
        with server.capture_signals():
            signal.raise_signal(signal.SIGHUP)
            assert not hasattr(signal.getsignal(signal.SIGHUP), "__self__")
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert server.should_exit
    assert not AppStatus.should_exit


@pytest.mark.parametrize("host", ["a..b", "x" * 70])
def test_a_name_that_is_no_host_name_is_refused_as_a_host_that_cannot_be_bound(host: str) -> None:
    # Fails without UnicodeError in _bind.
    with pytest.raises(ConfigurationError, match="cannot be bound"):
        serving_module._bind(host, 0)


def test_a_listener_that_cannot_be_bound_is_closed() -> None:
    # Fails without the ExitStack of _bind: a ResourceWarning is an error.
    with socket.create_server(("127.0.0.1", 0)) as taken:
        with pytest.raises(ConfigurationError, match="cannot be bound"):
            serving_module._bind("127.0.0.1", taken.getsockname()[1])
        gc.collect()
