import json
import logging
import os
import sys
import warnings
from collections.abc import Iterator

import pytest
from mcp import Client

from shared import logs
from tests.server.memory import InMemory

SECRET = "zanzibar"


async def test_a_call_is_one_line_of_names_and_numbers(
    one_client: Client, backend: InMemory, logged: list[bytes]
) -> None:
    await one_client.call_tool(
        "memory_remember",
        {
            "content": SECRET,
            "tags": [SECRET],
            "source": SECRET,
            "category": SECRET,
            "client_request_id": SECRET,
        },
    )
    await one_client.call_tool("memory_search", {"query": SECRET})
    await one_client.call_tool("memory_search", {"query": SECRET, SECRET: 1})
    await one_client.call_tool("memory_search", {"query": SECRET, "project": SECRET})
    assert SECRET.encode() not in b"".join(logged)
    calls = [json.loads(line) for line in logged if b"tool_call" in line]
    assert [(call["tool"], call["ok"], call["outcome"]) for call in calls] == [
        ("memory_remember", True, "created"),
        ("memory_search", True, "found"),
        ("memory_search", False, "INVALID_ARGUMENT"),
        ("memory_search", False, "PROJECT_NOT_FOUND"),
    ]
    assert all(call.keys() == calls[0].keys() for call in calls)
    assert calls[0].keys() == {
        "event",
        "timestamp",
        "level",
        "tool",
        "tenant",
        "project",
        "ms",
        "ok",
        "outcome",
        "request_id",
    }
    assert (calls[0]["tenant"], calls[0]["project"]) == ("local", "app")
    assert backend.authors[0].request_id == calls[0]["request_id"]


@pytest.fixture
def configured(logged: list[bytes]) -> Iterator[list[bytes]]:
    root = logging.getLogger()
    before = root.handlers[:], root.level, warnings.showwarning, sys.excepthook
    logs.configure("INFO")
    yield logged
    root.handlers[:], root.level, warnings.showwarning, sys.excepthook = before


def test_a_library_s_record_is_reduced_to_its_template(configured: list[bytes]) -> None:
    try:
        raise ValueError(SECRET)
    except ValueError:
        logging.getLogger("some.package").exception("handler for %r raised", SECRET)
    [line] = map(json.loads, configured)
    assert (line["event"], line["template"], line["error"]) == (
        "library",
        "handler for %r raised",
        "ValueError",
    )
    assert SECRET not in json.dumps(line)


def test_a_warning_is_reduced_to_its_place(configured: list[bytes]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = logs._warned
        warnings.warn(SECRET, UserWarning, stacklevel=1)
    [line] = map(json.loads, configured)
    assert (line["event"], line["category"]) == ("warning", "UserWarning")
    assert SECRET not in json.dumps(line)


def test_a_crash_is_reduced_to_its_type_and_place(configured: list[bytes]) -> None:
    try:
        raise RuntimeError(SECRET)
    except RuntimeError as error:
        sys.excepthook(type(error), error, error.__traceback__)
    [line] = map(json.loads, configured)
    assert (line["event"], line["error"]) == ("crashed", "RuntimeError")
    assert SECRET not in json.dumps(line)


def test_events_under_the_level_are_not_written(configured: list[bytes]) -> None:
    logs.configure("WARNING")
    logs.event("quiet")
    logs.event("loud", level="WARNING")
    assert [json.loads(line)["event"] for line in configured] == ["loud"]


def test_a_line_is_dropped_rather_than_waiting_for_a_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    read_end, write_end = os.pipe()
    monkeypatch.setattr(logs, "STDERR", write_end)
    for _ in range(200):
        logs._write(b"x" * 1_000 + b"\n")
    os.set_blocking(read_end, False)
    kept = os.read(read_end, 1_000_000)
    assert 0 < len(kept) < 200 * 1_001
    assert kept.endswith(b"\n")
    os.close(read_end)
    os.close(write_end)
