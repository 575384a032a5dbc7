"""A server that ends under its clients: they hear it clearly, come back, and no write is lost or done twice."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg
import httpx2
import pytest

from shared import checker
from tests.http.callers import ERAS, Era, RawClient, raw_client
from tests.http.processes import PRODUCT_HTTP, WAIT_S, Process, serving
from tests.ports import free_port

WRITERS = 10
WRITES = 50
"""So many are answered between two restarts, at least."""

ATTEMPTS_MAX = 1_000
RETRYABLE = {"BACKEND_UNAVAILABLE", "BACKEND_BUSY", "UNKNOWN_OUTCOME"}


@dataclass
class Log:
    """By text how a write was answered at last, and what was heard before that."""

    outcomes: dict[str, str] = field(default_factory=dict)
    heard: Counter[str] = field(default_factory=Counter)
    answered: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def until(self, count: int) -> None:
        async with self.answered, asyncio.timeout(WAIT_S):
            await self.answered.wait_for(lambda: len(self.outcomes) >= count)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_writes_repeated_over_a_restart_are_done_once(
    tmp_path: Path, database_url: str, connection: asyncpg.Connection, number: signal.Signals
) -> None:
    port = free_port()
    log = Log()
    with ExitStack() as stack:
        process = await _started(stack, tmp_path, port, database_url)
        async with _writing(process.url, log):
            for restart in range(1, 3):
                await log.until(restart * WRITES)
                process.process.send_signal(number)
                await asyncio.to_thread(process.process.wait, WAIT_S)
                process = await _started(stack, tmp_path, port, database_url)
            await log.until(3 * WRITES)
    assert set(log.outcomes.values()) <= {"created", "idempotent_replay"}
    assert log.heard
    rows = await connection.fetch("SELECT content, count(*) FROM memhub.memory_revisions GROUP BY content")
    assert {row["content"]: row["count"] for row in rows} == dict.fromkeys(log.outcomes, 1)
    assert await checker.check(connection) == []


async def _started(stack: ExitStack, folder: Path, port: int, database_url: str) -> Process:
    server = serving(folder, "--port", str(port), program=PRODUCT_HTTP, MEMHUB_DATABASE_URL=database_url)
    return await asyncio.to_thread(stack.enter_context, server)


@asynccontextmanager
async def _writing(url: str, log: Log) -> AsyncIterator[None]:
    enough = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        for number in range(WRITERS):
            tasks.create_task(_write(url, ERAS[number % len(ERAS)], number, log, enough))
        yield
        enough.set()


async def _write(url: str, era: Era, number: int, log: Log, enough: asyncio.Event) -> None:
    async with raw_client(url, era, headers=[("X-Memory-Tenant", "restarted")]) as raw:
        written = 0
        while not enough.is_set():
            text = f"Writer {number} of the restart wrote number {written}."
            outcome = await _until_answered(raw, text, f"{number}-of-the-restart-{written}", log)
            written += 1
            async with log.answered:
                log.outcomes[text] = outcome
                log.answered.notify_all()


async def _until_answered(raw: RawClient, text: str, key: str, log: Log) -> str:
    arguments = {"content": text, "client_request_id": key}
    for _ in range(ATTEMPTS_MAX):
        try:
            answer = await _asked(raw, arguments)
        except httpx2.TransportError:
            heard = "connection"
        else:
            if answer.status_code == 200 and "structuredContent" in answer.json()["result"]:
                return str(answer.json()["result"]["structuredContent"]["outcome"])
            heard = _clearly(answer)
        log.heard[heard] += 1
        if heard in {"connection", "session"}:
            raw.session = None
        await asyncio.sleep(0.1)
    raise AssertionError(f"never answered: {log.heard}")


async def _asked(raw: RawClient, arguments: dict[str, str]) -> httpx2.Response:
    if raw.era == "2025-11-25" and raw.session is None:
        opened = await raw.open()
        if opened.status_code != 200:
            return opened
    return await raw.request("tools/call", {"name": "memory_remember", "arguments": arguments})


def _clearly(answer: httpx2.Response) -> str:
    """What a client is told that it may not take for an answer; anything but these fails."""
    if answer.status_code == 404:
        assert "ession" in answer.json()["error"]["message"], answer.text
        return "session"
    if answer.status_code in {500, 503}:
        assert "message" in answer.text, answer.text
        return "server"
    assert answer.status_code == 200, answer.text
    code: str = answer.json()["result"]["_meta"]["code"]
    assert code in RETRYABLE, answer.text
    return code
