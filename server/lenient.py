"""A second look at messages that the fast parsers refuse for one character, or take for what they are not."""

from __future__ import annotations

import json
from typing import Any

from mcp_types import INVALID_REQUEST, ErrorData, JSONRPCError

from server.characters import scrubbed

# Of a whole number, as Python and the parser of the models have it.
DIGITS_MAX = 4_300

UNUSABLE_ID = JSONRPCError(
    jsonrpc="2.0",
    id=None,
    error=ErrorData(code=INVALID_REQUEST, message="id: must be a string or an integer; a notification has none."),
)


def parsed(text: bytes) -> Any:
    """The value of a JSON text: what is no UTF-8 in it as lone surrogates, a number of too many digits as a float.

    Raises ValueError, RecursionError.
    """
    return json.loads(text.decode("utf-8", "surrogateescape"), parse_int=_whole)


def _whole(digits: str) -> int | float:
    """Beyond every bound of an argument, whose refusal names it: the parsers refuse the whole message."""
    return int(digits) if len(digits) <= DIGITS_MAX else float(digits)


def has_unusable_id(value: object) -> bool:
    """Whether this is a request that waits for an answer under an id that no answer can carry.

    The models take it for a notification, which has no id, and would leave its client waiting.
    """
    return isinstance(value, dict) and "method" in value and "id" in value and not is_usable_id(value["id"])


def is_usable_id(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def arguments_of(value: object) -> dict[str, Any] | None:
    """The arguments of a tool's call as they were sent, by their printable names; None where this is no such call."""
    match value:
        case {"method": "tools/call", "params": {"arguments": {**arguments}}}:
            return {scrubbed(str(name)): argument for name, argument in arguments.items()}
        case _:
            return None


def scrub(value: Any) -> Any:
    """The value with every lone surrogate replaced. Raises RecursionError."""
    match value:
        case str():
            return scrubbed(value)
        case list():
            return [scrub(item) for item in value]
        case dict():
            return {scrubbed(str(name)): scrub(item) for name, item in value.items()}
        case _:
            return value
