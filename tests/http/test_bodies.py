"""What is no Unicode, and ids that no answer can carry: refused as on stdio, by the name of what is wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.http.callers import Era, RawClient, client
from tests.http.processes import Process


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (rb'{"content":"a\ud800b"}', "content"),
        (rb'{"content":"x","tags":["ok","\uDFFF"]}', "tags[1]"),
        (b'{"content":"a\xffb"}', "content"),
        (rb'{"content":"x","\ud800":1}', r"\ufffd"),
    ],
)
async def test_text_that_is_not_unicode_is_refused_by_name(
    server: Process, era: Era, arguments: bytes, name: str
) -> None:
    """Fails without Readable or without as_sent in server/http/bodies.py."""
    async with client(server.url, era, tenant="bodies") as raw:
        answer = await _posted(raw, "memory_remember", arguments)
    assert answer["_meta"]["code"] == "INVALID_ARGUMENT"
    assert answer["_meta"]["message"].startswith(f"{name}: ")


@pytest.mark.parametrize("number", [b"9" * 5_000, b"-" + b"9" * 4_301, b"9" * 400, b"1e400", b"1.5"])
@pytest.mark.parametrize(
    ("tool", "arguments", "name"),
    [
        ("memory_remember", b'{"content":"x","importance":%b}', "importance: must be a whole number from 0 to 100"),
        ("memory_remember", b'{"content":"x","ttl_days":%b}', "ttl_days: must be a whole number from 1 to"),
        ("memory_search", b'{"limit":%b}', "limit: must be a whole number from 1 to 100"),
        ("memory_context", b'{"token_budget":%b}', "token_budget: must be a whole number from 100 to 32000"),
        ("memory_revise", b'{"expected_revision":%b}', "expected_revision: must be a whole number from 1 to"),
    ],
)
async def test_a_number_beyond_every_bound_is_refused_by_the_name_of_its_argument(
    server: Process, era: Era, number: bytes, tool: str, arguments: bytes, name: str
) -> None:
    """Fails without _LONG in either place of server/http/bodies.py: the SDK refused the whole body."""
    async with client(server.url, era, tenant="bodies") as raw:
        answer = await _posted(raw, tool, arguments % number)
    assert answer["_meta"]["code"] == "INVALID_ARGUMENT"
    assert answer["_meta"]["message"].startswith(name)


async def test_digits_in_a_text_are_as_many_as_were_sent(server: Process, era: Era) -> None:
    digits = "é7" + "9" * 5_000
    async with client(server.url, era, tenant="bodies") as raw:
        stored = await raw.use("memory_remember", content=digits, importance=5)
        history = await raw.use("memory_history", memory_id=stored["memory"]["memory_id"])
    assert history["revisions"][0]["content"] == digits


async def test_surrogates_in_pairs_are_a_character_like_any_other(server: Process, era: Era) -> None:
    async with client(server.url, era, tenant="bodies") as raw:
        answer = await _posted(raw, "memory_remember", rb'{"content":"Ships have \ud83d\udea2 names."}')
    assert answer["structuredContent"]["memory"]["content"] == "Ships have \U0001f6a2 names."


@pytest.mark.parametrize("request_id", [b"null", b"true", b"1.5", b'{"a":1}', b"[7]"])
async def test_a_request_with_an_unusable_id_is_answered_under_none(
    server: Process, era: Era, request_id: bytes
) -> None:
    async with client(server.url, era, tenant="bodies") as raw:
        body = b'{"jsonrpc":"2.0","id":%b,"method":"tools/list","params":{}}' % request_id
        answer = await raw.http.post("/mcp", content=body, headers=raw.all_headers())
    assert answer.status_code == 400
    assert (answer.json()["id"], answer.json()["error"]["code"]) == (None, -32600)


async def test_an_id_among_the_arguments_is_the_tool_s(server: Process, era: Era) -> None:
    async with client(server.url, era, tenant="bodies") as raw:
        refused = await raw.refused("memory_search", id=None)
    assert refused["message"].startswith("id: unknown argument")


@pytest.mark.parametrize("kind", ["APPLICATION/JSON", "Application/Json; charset=UTF-8"])
async def test_the_media_type_is_taken_in_either_case(server: Process, era: Era, kind: str) -> None:
    """Fails without _in_lower_case in server/http/bodies.py: the older era answered 415."""
    async with client(server.url, era, tenant="bodies") as raw:
        message, own = raw.message("tools/list", {})
        headers = [header for header in raw.all_headers(own) if header[0] != b"Content-Type"]
        headers.append((b"Content-Type", kind.encode()))
        answer = await raw.http.post("/mcp", content=json.dumps(message), headers=headers)
    assert answer.status_code == 200, answer.text


async def _posted(raw: RawClient, tool: str, arguments: bytes) -> dict[str, Any]:
    message, own = raw.message("tools/call", {"name": tool, "arguments": "HERE"})
    body = json.dumps(message).encode().replace(b'"HERE"', arguments)
    answer = await raw.http.post("/mcp", content=body, headers=raw.all_headers(own))
    assert answer.status_code == 200, answer.text
    result: dict[str, Any] = answer.json()["result"]
    return result
