"""The Python SDK's own client over HTTP: every tool, resource and prompt with real data, in either era."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.http.processes import Process

OPTIONAL = {"docs_search"}
"""Listed where a library is known to exist."""


@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
async def test_the_sdk_s_client_calls_everything_with_real_data(server: Process, mode: str) -> None:
    headers = {"X-Memory-Tenant": f"python-{mode}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(f"{server.url}/mcp", http_client=http), mode=mode) as client,
    ):
        called = await _use_every_tool(client)
        listed = {tool.name for tool in (await client.list_tools()).tools}
        prompts = (await client.list_prompts()).prompts
        told = [await client.get_prompt(prompt.name, {"project": "python"}) for prompt in prompts]
    assert listed - OPTIONAL == called
    assert all(prompt.messages for prompt in told)


async def _use_every_tool(client: Client) -> set[str]:
    called = set()

    async def use(tool: str, **arguments: Any) -> dict[str, Any]:
        called.add(tool)
        result = await client.call_tool(tool, {"project": "python", **arguments})
        assert not result.is_error, result
        assert result.structured_content is not None
        return dict(result.structured_content)

    await use("project_use", create=True)
    old = await use("memory_remember", content="Pagination uses offsets.", type="DECISION")
    replaced = [old["memory"]["memory_id"]]
    now = await use("memory_remember", content="Pagination uses cursors.", type="DECISION", supersedes=replaced)
    memory_id = now["memory"]["memory_id"]
    await use("memory_revise", memory_id=memory_id, expected_revision=1, content="Pagination uses cursors of 50.")
    found = await use("memory_search", query="pagination")
    assert [hit["memory_id"] for hit in found["results"]] == [memory_id]
    assert "cursors of 50" in (await use("memory_context", query="pagination"))["brief"]
    assert len((await use("memory_history", memory_id=memory_id))["revisions"]) == 2
    assert await use("memory_stats")
    assert len((await use("memory_conflicts"))["conflicts"]) == 1
    for uri in (
        "memory://projects",
        "memory://projects/python/context",
        f"memory://memories/{memory_id}",
        f"memory://memories/{memory_id}/history",
    ):
        assert (await client.read_resource(uri)).contents
    assert (await use("memory_forget", memory_id=memory_id))["outcome"] == "forgotten"
    return called
