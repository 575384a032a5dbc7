"""Reads one line of input as a JSON-RPC message, or says what to answer instead of it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    RequestId,
)
from mcp_types.jsonrpc import jsonrpc_message_adapter
from pydantic import ValidationError

from server import lenient

LINE_BYTES_MAX = 1_048_576
"""Five times the longest content with every character escaped."""

_EDGE_BYTES = 512
# Anchored at the ends of the line, where clients write the envelope: an `id` in the arguments never matches.
_ID_AT_HEAD = re.compile(
    rb'\A\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(0|[1-9]\d{0,14}|"[\w.:-]{1,128}")\s*,'
)
_ID_AT_TAIL = re.compile(
    rb',\s*"id"\s*:\s*(0|[1-9]\d{0,14}|"[\w.:-]{1,128}")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*\Z'
)


@dataclass(frozen=True, slots=True)
class Oversized:
    """A line beyond the bound; only its two ends were kept."""

    head: bytes
    tail: bytes


class Lines:
    """Cuts a stream of bytes into lines, holding at most LINE_BYTES_MAX of one."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._oversized: Oversized | None = None

    def feed(self, chunk: bytes) -> list[bytes | Oversized]:
        """The lines that end in this chunk."""
        *ended, rest = chunk.split(b"\n")
        lines = [self._end(part) for part in ended]
        self._extend(rest)
        return [line for line in lines if isinstance(line, Oversized) or line.strip()]

    def close(self) -> list[bytes | Oversized]:
        """The last line, where the stream ended without a newline."""
        return self.feed(b"\n")

    def _end(self, part: bytes) -> bytes | Oversized:
        self._extend(part)
        line = self._oversized or bytes(self._line)
        self._line.clear()
        self._oversized = None
        return line

    def _extend(self, part: bytes) -> None:
        if self._oversized is not None:
            tail = (self._oversized.tail + part)[-_EDGE_BYTES:]
            self._oversized = Oversized(head=self._oversized.head, tail=tail)
            return
        self._line += part
        if len(self._line) > LINE_BYTES_MAX:
            head, tail = bytes(self._line[:_EDGE_BYTES]), bytes(self._line[-_EDGE_BYTES:])
            self._oversized = Oversized(head=head, tail=tail)
            self._line.clear()


def decode(line: bytes | Oversized) -> tuple[JSONRPCMessage | None, JSONRPCError | None]:
    """The message to serve, or else the error to answer; neither for a broken notification or answer."""
    if isinstance(line, Oversized):
        return None, _refused(
            _edge_id(line.head, line.tail),
            INVALID_REQUEST,
            f"A message of more than {LINE_BYTES_MAX:,} bytes was refused; content is at most 32,000 bytes.",
        )
    try:
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        return _decode_leniently(line)
    return _decode_leniently(line) if isinstance(message, JSONRPCNotification) else (message, None)


def _decode_leniently(line: bytes) -> tuple[JSONRPCMessage | None, JSONRPCError | None]:
    """The fast parser drops a whole message for one lone surrogate, and its client would wait for ever."""
    try:
        value = _without_surrogates(lenient.parsed(line))
    except (ValueError, RecursionError):
        return None, _refused(_edge_id(line, line), PARSE_ERROR, "This line is not JSON.")
    if lenient.has_unusable_id(value):
        return None, lenient.UNUSABLE_ID
    try:
        return jsonrpc_message_adapter.validate_python(value, by_name=False), None
    except ValidationError:
        return None, _not_a_message(value)


def _without_surrogates(value: Any) -> Any:
    """Scrubbed everywhere but in the values of a tool's arguments, whose refusal shall name the argument."""
    sent = lenient.arguments_of(value)
    if sent is None:
        return lenient.scrub(value)
    clean = lenient.scrub({**value, "params": {**value["params"], "arguments": {}}})
    clean["params"]["arguments"] = sent
    return clean


def _not_a_message(value: Any) -> JSONRPCError | None:
    if isinstance(value, dict) and "method" not in value and ("result" in value or "error" in value):
        return None
    if isinstance(value, dict) and "method" in value and "id" not in value:
        return None
    found = value.get("id") if isinstance(value, dict) else None
    request_id = found if lenient.is_usable_id(found) else None
    return _refused(request_id, INVALID_REQUEST, "This is not a JSON-RPC 2.0 message of MCP.")


def _edge_id(head: bytes, tail: bytes) -> RequestId | None:
    found = _ID_AT_HEAD.match(head[:_EDGE_BYTES]) or _ID_AT_TAIL.search(tail[-_EDGE_BYTES:])
    return json.loads(found[1]) if found else None


def _refused(request_id: RequestId | None, code: int, message: str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=request_id, error=ErrorData(code=code, message=message))
