"""Real processes on raw pipes; every line that `Raw` reads is checked to be JSON-RPC."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from mcp import Client, StdioServerParameters, stdio_client

from server import tools
from server.messages import LINE_BYTES_MAX
from tests.server.processes import (
    CHILD,
    INITIALIZE,
    PRODUCT,
    ROOT,
    WAIT_S,
    Raw,
    environment,
    running,
)

INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LIST = {"jsonrpc": "2.0", "id": "list", "method": "tools/list"}
PING = {"jsonrpc": "2.0", "id": "ping", "method": "ping"}


@pytest.fixture
def raw(tmp_path: Path) -> Iterator[Raw]:
    """A server with an open session, whose database is there."""
    (tmp_path / "database").touch()
    with running(tmp_path) as raw:
        raw.send(INITIALIZE, INITIALIZED)
        raw.answer("init")
        yield raw


@pytest.fixture(scope="module")
def one_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Raw]:
    folder = tmp_path_factory.mktemp("one-session")
    (folder / "database").touch()
    with running(folder) as raw:
        raw.send(INITIALIZE, INITIALIZED)
        raw.answer("init")
        yield raw


@pytest.mark.parametrize("program", [CHILD, PRODUCT], ids=["in-memory", "product"])
def test_the_handshake_and_the_listing_need_no_database(tmp_path: Path, program: tuple[str, ...]) -> None:
    unreachable = "postgresql://nobody@127.0.0.1:1/none"
    with running(tmp_path, program, MEMHUB_DATABASE_URL=unreachable) as raw:
        raw.send(INITIALIZE, INITIALIZED, LIST)
        assert raw.result("init")["serverInfo"]["name"] == "memhub"
        assert len(raw.result("list")["tools"]) == len(tools.ALL)
        assert not (tmp_path / "data").exists()


def test_a_call_without_database_is_retryable_and_the_next_one_finds_it(tmp_path: Path) -> None:
    with running(tmp_path) as raw:
        raw.send(INITIALIZE, INITIALIZED)
        raw.call(1, "memory_search")
        result = raw.result(1)
        assert result["isError"]
        assert (result["_meta"]["code"], result["_meta"]["retryable"]) == ("BACKEND_UNAVAILABLE", True)
        (tmp_path / "database").touch()
        raw.call(2, "memory_search")
        assert raw.result(2)["structuredContent"]["results"] == []


def test_nothing_that_a_library_prints_reaches_the_protocol(raw: Raw) -> None:
    """Fails without the dup2 of stderr over stdout in server/wire.py."""
    raw.call(1, "memory_remember", content="noisy")
    assert raw.result(1)["structuredContent"]["outcome"] == "created"
    raw.close_stdin()
    assert raw.ended() == 0
    stderr = raw.stderr()
    assert "a library prints" in stderr
    assert "raw bytes on fd 1" in stderr
    assert "a child prints" in stderr


@pytest.mark.parametrize(
    "junk",
    [
        b"garbage\n",
        b'{"jsonrpc":"2.0","id":5\n',
        b"\x00\x01\xff\xfe\x80\n" * 50,
        b"[" * 50_000 + b"\n",
        b"[]\n5\nnull\n\n   \n",
        b'{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}\n',
        b'{"jsonrpc":"2.0","id":1,"result":{}}\n{"jsonrpc":"2.0","id":9,"error":{"code":1,"message":"x"}}\n',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[1]}}\n',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}\n',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_search","arguments":5}}\n',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_search","arguments":{"\\ud800":1}}}\n',
        b'{"jsonrpc":"2.0","id":"\\ud800","method":"nothing\\udfff"}\n',
        b'{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"\\ud800"}}\n',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b'{"a":' * 900 + b"1" + b"}" * 900 + b"}\n",
        b"x" * (3 * LINE_BYTES_MAX) + b"\n",
    ],
    ids=range(15),
)
def test_junk_breaks_neither_the_protocol_nor_the_session(one_session: Raw, junk: bytes) -> None:
    """All of it in one session."""
    fresh = str(len(one_session.lines))
    one_session.send(junk, {**PING, "id": f"ping {fresh}"})
    assert one_session.result(f"ping {fresh}") == {}
    one_session.call(f"call {fresh}", "memory_remember", content="still here")
    assert one_session.result(f"call {fresh}")["structuredContent"]["outcome"] == "created"


def test_junk_before_the_handshake_does_not_end_the_server(tmp_path: Path) -> None:
    with running(tmp_path) as raw:
        raw.send(b"\xff\xff\n", b"{}\n", INITIALIZE)
        assert raw.result("init")["serverInfo"]["name"] == "memhub"


@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
async def test_the_sdk_s_client_is_served_in_either_era(tmp_path: Path, mode: str) -> None:
    (tmp_path / "database").touch()
    parameters = StdioServerParameters(command=sys.executable, args=list(CHILD), env=environment(tmp_path), cwd=ROOT)
    with (tmp_path / "stderr").open("w") as stderr:
        async with Client(stdio_client(parameters, errlog=stderr), mode=mode) as client:
            assert len((await client.list_tools()).tools) == len(tools.ALL)
            made = await client.call_tool("memory_remember", {"content": f"from {mode}"})
            assert made.structured_content is not None
            assert made.structured_content["memory"]["author_client"] == "mcp"
            found = await client.call_tool("memory_search", {"query": "from"})
            assert found.structured_content is not None
            assert [hit["content"] for hit in found.structured_content["results"]] == [f"from {mode}"]


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (rb'{"content":"a\ud800b"}', "content"),
        (rb'{"content":"x","tags":["ok","\udfff"]}', "tags[1]"),
        (b'{"content":"a\xffb"}', "content"),
        (rb'{"content":"x","source":"a\u0000b"}', "source"),
    ],
)
def test_text_that_is_not_unicode_is_refused_by_name(one_session: Raw, arguments: bytes, name: str) -> None:
    """Fails without the lenient second parser in server/messages.py: the client would wait for ever."""
    fresh = len(one_session.lines) + 1_000
    head = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call",' % fresh
    one_session.send(head + b'"params":{"name":"memory_remember","arguments":%b}}\n' % arguments)
    error = one_session.result(fresh)["_meta"]
    assert error["code"] == "INVALID_ARGUMENT"
    assert error["message"].startswith(f"{name}: ")


@pytest.mark.parametrize("request_id", [b"null", b"true", b"1.5", b'{"a":1}'])
def test_a_request_with_an_unusable_id_is_answered_under_none(raw: Raw, request_id: bytes) -> None:
    raw.send(b'{"jsonrpc":"2.0","id":%b,"method":"tools/list"}\n' % request_id)
    assert raw.answer(None)["error"]["code"] == -32600


def test_an_oversized_request_is_answered_and_not_kept(raw: Raw) -> None:
    raw.call(8, "memory_remember", content="x" * LINE_BYTES_MAX)
    assert "1,048,576" in raw.answer(8)["error"]["message"]
    raw.send(PING)
    assert raw.result("ping") == {}


def test_a_crash_in_a_tool_is_told_without_its_text_and_the_session_lives(raw: Raw) -> None:
    raw.call(1, "memory_remember", content="bug")
    assert raw.result(1)["_meta"]["code"] == "INTERNAL_ERROR"
    raw.call(2, "memory_search")
    assert raw.result(2)["structuredContent"]
    raw.close_stdin()
    assert raw.ended() == 0
    stderr = raw.stderr()
    assert "RuntimeError" in stderr
    assert "quotes a memory" not in stderr + json.dumps(raw.lines[-1].decode())


def test_the_end_of_input_ends_the_process_cleanly(raw: Raw) -> None:
    raw.close_stdin()
    assert raw.ended() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_the_process_cleanly(raw: Raw, number: signal.Signals) -> None:
    """Fails without add_signal_handler in server/stdio.py: SIGINT hangs, the others kill."""
    raw.process.send_signal(number)
    assert raw.ended() == 0


def test_an_end_before_any_request_is_clean(tmp_path: Path) -> None:
    with running(tmp_path) as raw:
        raw.close_stdin()
        assert raw.ended() == 0
        assert raw.lines == []


def test_the_last_line_waits_for_a_slow_reader(raw: Raw) -> None:
    """Fails where the writer is a task of the inner group in server/stdio.py and is cancelled with it."""
    pipe_bytes = fcntl.fcntl(raw._stdout, fcntl.F_SETPIPE_SZ, 4_096)
    raw.send(b"garbage\n")
    raw.answer(None)
    one_more_than_fits = pipe_bytes // (len(raw.lines[-1]) + 1) + 1
    raw.send(*[b"garbage\n"] * one_more_than_fits)
    raw.close_stdin()
    with pytest.raises(subprocess.TimeoutExpired):
        raw.process.wait(1)
    assert raw.ended() == 0
    assert len([line for line in raw.lines if b"-32700" in line]) == 1 + one_more_than_fits


def test_calls_that_came_before_the_end_of_input_are_still_answered(tmp_path: Path) -> None:
    """Fails without the drain in server/stdio.py: the SDK cancels what is in flight at EOF."""
    (tmp_path / "database").touch()
    with running(tmp_path) as raw:
        raw.send(INITIALIZE, INITIALIZED)
        for number in range(20):
            raw.call(number, "memory_remember", content=f"memory {number}")
        raw.close_stdin()
        assert raw.ended() == 0
        answers = [json.loads(line) for line in raw.lines]
    assert {answer["id"] for answer in answers} == {"init", *range(20)}
    assert all("result" in answer for answer in answers)


@pytest.mark.parametrize("end", ["cancelled", "stdin", "SIGTERM"])
def test_a_write_in_flight_is_finished_and_not_torn(raw: Raw, tmp_path: Path, end: str) -> None:
    """Fails without shield=True in server/call.py."""
    raw.call(1, "memory_remember", content="slow")
    _exists(tmp_path / "begun")
    match end:
        case "cancelled":
            cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
            raw.send(cancel, PING)
            assert raw.result("ping") == {}
        case "stdin":
            raw.close_stdin()
        case _:
            raw.process.terminate()
    (tmp_path / "go").touch()
    _exists(tmp_path / "written")
    if end != "cancelled":
        assert raw.ended() == 0


def test_a_write_that_never_ends_does_not_hold_the_process(raw: Raw, tmp_path: Path) -> None:
    """Fails without the timer in server/stdio.py."""
    raw.call(1, "memory_remember", content="slow")
    _exists(tmp_path / "begun")
    raw.process.terminate()
    assert raw.ended() == 0
    assert not (tmp_path / "written").exists()


def test_a_second_signal_ends_the_process_at_once(raw: Raw, tmp_path: Path) -> None:
    raw.call(1, "memory_remember", content="slow")
    _exists(tmp_path / "begun")
    raw.process.send_signal(signal.SIGINT)
    ends_s = time.monotonic() + WAIT_S
    while raw.process.poll() is None and time.monotonic() < ends_s:
        raw.process.send_signal(signal.SIGINT)
        # A flood would fill the pipe that wakes the loop, and then, with complaints of it, that of stderr.
        with suppress(subprocess.TimeoutExpired):
            raw.process.wait(0.05)
    assert raw.process.returncode in (0, 1)


def test_a_client_that_reads_no_more_ends_the_process(raw: Raw) -> None:
    assert raw.process.stdout is not None
    raw._selector.unregister(raw._stdout)
    raw.process.stdout.close()
    raw.send(PING)
    assert raw.process.wait(WAIT_S) == 0


def test_a_client_that_never_reads_stderr_does_not_stop_the_server(raw: Raw) -> None:
    """Fails without the poll in shared/logs.py: a pipe holds 64 KiB, these lines are more."""
    for number in range(600):
        raw.call(number, "memory_search")
        raw.answer(number)


def test_a_killed_parent_ends_the_server_whose_stdin_a_sibling_holds_open(tmp_path: Path) -> None:
    """Fails without the watch of the parent in server/stdio.py."""
    parent_code = (
        "import subprocess, sys, time\n"
        "server = subprocess.Popen([sys.executable, '-m', 'tests.server.child'], stdin=sys.stdin)\n"
        "print(server.pid, file=sys.stderr, flush=True)\n"
        "time.sleep(600)\n"
    )
    read_end, held_open = os.pipe()
    parent = subprocess.Popen(
        [sys.executable, "-c", parent_code],
        stdin=read_end,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(tmp_path),
        cwd=ROOT,
    )
    assert parent.stderr is not None
    assert parent.stdout is not None
    server = psutil.Process(int(parent.stderr.readline()))
    os.write(held_open, json.dumps(INITIALIZE).encode() + b"\n")
    assert json.loads(parent.stdout.readline())["id"] == "init"
    parent.kill()
    parent.wait(WAIT_S)
    psutil.wait_procs([server], timeout=WAIT_S)
    assert not server.is_running()
    for descriptor in (read_end, held_open):
        os.close(descriptor)
    parent.stdout.close()
    parent.stderr.close()


def test_a_bad_setting_is_one_line_on_stderr_and_exit_1(tmp_path: Path) -> None:
    with running(tmp_path, PRODUCT, MEMHUB_TENANT="no tenant", MEMHUB_LOG_LEVEL="loud") as raw:
        assert raw.ended() == 1
        assert raw.lines == []
        [line] = raw.stderr().splitlines()
        assert "MEMHUB_TENANT" in line
        assert "MEMHUB_LOG_LEVEL" in line


def test_a_bad_project_setting_is_named_too(tmp_path: Path) -> None:
    with running(tmp_path, PRODUCT, MEMHUB_PROJECT="No Slug") as raw:
        assert raw.ended() == 1
        [line] = raw.stderr().splitlines()
        assert "MEMHUB_PROJECT" in line


def test_a_variable_that_is_no_setting_is_named_once_at_start(tmp_path: Path) -> None:
    with running(tmp_path, PRODUCT, MEMHUB_TENANTS="x", MEMHUB_DATABASE_URL="postgresql://nobody@127.0.0.1:1/n") as raw:
        raw.close_stdin()
        assert raw.ended() == 0
        events = [json.loads(line) for line in raw.stderr().splitlines()]
    [told] = [event for event in events if event["event"] == "settings_unknown"]
    assert (told["names"], told["nearest"]) == (["MEMHUB_TENANTS"], {"MEMHUB_TENANTS": "MEMHUB_TENANT"})


@pytest.mark.parametrize(("argument", "status"), [("--help", 0), ("--no-such", 2)])
def test_usage(tmp_path: Path, argument: str, status: int) -> None:
    with running(tmp_path, (*PRODUCT, argument)) as raw:
        assert raw.process.wait(WAIT_S) == status


def _exists(path: Path) -> None:
    deadline = time.monotonic() + WAIT_S
    while not path.exists():
        assert time.monotonic() < deadline, f"{path.name} never came"
        os.sched_yield()
