"""How long tools take: noted at every call, handed down now and then and at the end."""

from __future__ import annotations

from server.gateway import Gateway
from server.record import Unmetered
from server.timing import Timed
from tests.server.memory import InMemory


async def test_calls_of_tools_are_kept_and_nothing_else() -> None:
    backend = InMemory()

    async def opener() -> InMemory:
        return backend

    timed = Timed(Unmetered(), Gateway(opener=opener), flush_s=60)
    timed.called("tool_call", "memory_search", outcome="found", seconds=0.003)
    timed.called("tool_call", "memory_revise", outcome="BACKEND_BUSY", seconds=5)
    timed.called("resource_read", "project", outcome="found", seconds=1)
    await timed.flush()

    assert backend.timed == 2


async def test_without_a_call_no_database_is_opened() -> None:
    async def opener() -> InMemory:
        raise AssertionError("opened")

    await Timed(Unmetered(), Gateway(opener=opener), flush_s=60).flush()
