"""The look for similar memories after a write that stands: it may be late, or fail, and the answer is the write's."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import uuid4

import pytest
from mcp import Client
from mcp.server.lowlevel import Server

from server.tools import memory_remember
from server.upkeep import Upkeep
from shared.settings import Settings
from tests.server.conftest import serving
from tests.server.memory import InMemory, with_project


class Stumbling(InMemory):
    async def similar(self, *_: Any, **__: Any) -> Any:
        raise ValueError("an error that is no MemhubError")


class Slow(InMemory):
    async def similar(self, *_: Any, **__: Any) -> Any:
        await asyncio.Event().wait()


def of(backend: InMemory) -> Server[object]:
    backend.slugs = with_project().slugs
    return serving(backend, Settings(project="app"))


async def test_a_bug_in_the_look_leaves_the_write_its_answer(logged: list[bytes]) -> None:
    # Fails without the surviving of _look.
    async with Client(of(Stumbling())) as client:
        answer = await client.call_tool("memory_remember", {"content": "We use teal."})

    assert not answer.is_error
    assert answer.structured_content is not None
    assert answer.structured_content["outcome"] == "created"
    assert "similar" not in answer.structured_content
    assert any(b"similar_not_found" in line for line in logged)


async def test_a_look_is_owned_from_its_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    # Fails with a bare create_task in _similar: a cancelled request left a task that nobody held.
    monkeypatch.setattr(memory_remember, "SIMILAR_S_MAX", 0.01)
    slow = Slow()
    async with Client(of(slow)) as client:
        answer = await client.call_tool("memory_remember", {"content": "We use teal."})
    (late,) = slow.late

    assert not answer.is_error
    assert not late.done()
    late.cancel()


async def test_what_is_late_ends_with_the_backend() -> None:
    # Fails without the cancel in Upkeep.aclose.
    upkeep = Upkeep(InMemory(), Settings(database_url="postgresql://nowhere/app"))  # type: ignore[arg-type]
    began = asyncio.Event()

    async def late() -> str:
        began.set()
        await asyncio.Event().wait()
        return str(uuid4())

    task = upkeep.spawn(late())
    await began.wait()
    await upkeep.aclose()
    await asyncio.wait({task}, timeout=10)

    assert task.cancelled()
