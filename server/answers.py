"""Turns results and errors into what goes over the wire; nothing else makes a tool result."""

from __future__ import annotations

from typing import Any

import orjson
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, CallToolResult, TextContent
from pydantic import BaseModel

from shared.errors import Forbidden, InvalidArgument, MemhubError, MemoryNotFound, ProjectNotFound, TenantRequired

_CALLER_ERRORS = (Forbidden, InvalidArgument, MemoryNotFound, ProjectNotFound, TenantRequired)


def success(result: BaseModel) -> CallToolResult:
    """Structured content, and the same as compact JSON text; what is None is left out of both."""
    structured = result.model_dump(mode="json", exclude_none=True)
    return CallToolResult(content=[_text(structured)], structured_content=structured)


def refusal(error: MemhubError) -> CallToolResult:
    """A tool error: compact JSON text and the same in `_meta`.

    No structured content: what does not match the output schema makes the TypeScript client throw.
    """
    return _failed(described(error))


def bug(request_id: str) -> CallToolResult:
    """What a caller hears of an exception that nobody expected: where to look, and nothing of its text."""
    return _failed(_internal(request_id))


def resource_refusal(error: MemhubError, uri: str | None) -> MCPError:
    """A resource has no error result: the same four fields travel in the data of a protocol error."""
    code = INVALID_PARAMS if isinstance(error, _CALLER_ERRORS) else INTERNAL_ERROR
    return MCPError(code=code, message=error.message, data={**described(error), **_named(uri)})


def resource_bug(request_id: str, uri: str | None) -> MCPError:
    described_bug = _internal(request_id)
    return MCPError(code=INTERNAL_ERROR, message=described_bug["message"], data={**described_bug, **_named(uri)})


def described(error: MemhubError) -> dict[str, Any]:
    return {"code": error.code, "message": error.message, "retryable": error.retryable, "next": error.next}


def _named(uri: str | None) -> dict[str, str]:
    return {} if uri is None else {"uri": uri}


def _internal(request_id: str) -> dict[str, Any]:
    return {
        "code": "INTERNAL_ERROR",
        "message": "This is a bug in memhub; whether a write took place is not known.",
        "retryable": False,
        "next": f"Re-read before you write again; request_id {request_id} finds it in the server's log.",
    }


def _failed(description: dict[str, Any]) -> CallToolResult:
    return CallToolResult(is_error=True, content=[_text(description)], _meta=description)


def _text(value: dict[str, Any]) -> TextContent:
    return TextContent(type="text", text=orjson.dumps(value).decode())
