"""A soak from its first client to its report."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import httpx2
import psutil

from shared import checker, embedded
from tests.http.processes import Process
from tests.soak.clients import SoakClient, Tally
from tests.soak.stalled import BEGINNINGS, stall

WARM_SHARE = 0.1
SAMPLES = 60
ANSWER_S = 120


@dataclass(frozen=True)
class Soak:
    """`rss_mb` is of the server from the end of the warm-up on; the others are what must be empty."""

    tally: Tally
    seconds: float
    rss_mb: list[float]
    lost: set[str]
    doubled: set[str]
    violations: list[checker.Violation]
    open_files: int


async def run(process: Process, data_dir: Path, *, clients: int, stalled: int, seconds: float, think_s: float) -> Soak:
    tally = Tally()
    until_s = time.monotonic() + seconds
    stalling = [
        asyncio.create_task(stall(process.port, BEGINNINGS[number % len(BEGINNINGS)])) for number in range(stalled)
    ]
    sampling = asyncio.create_task(_sampled(process.process.pid, seconds))
    # One for all: each would make a context of TLS for itself, and 200 of them keep this process busy for seconds.
    limits = httpx2.Limits(max_connections=clients, max_keepalive_connections=clients)
    async with httpx2.AsyncClient(base_url=process.url, timeout=ANSWER_S, limits=limits) as http:
        calling = [SoakClient(http, number, tally) for number in range(clients)]
        await asyncio.gather(*(one.run(until_s=until_s, think_s=think_s) for one in calling))
    for task in stalling:
        task.cancel()
    await asyncio.gather(*stalling, return_exceptions=True)
    lost, doubled, violations = await _verified(data_dir, tally)
    files = psutil.Process(process.process.pid).num_fds()
    return Soak(tally, seconds, await sampling, lost, doubled, violations, files)


async def _sampled(pid: int, seconds: float) -> list[float]:
    process, sampled = psutil.Process(pid), []
    await asyncio.sleep(seconds * WARM_SHARE)
    for _ in range(SAMPLES):
        sampled.append(process.memory_info().rss / 1_000_000)
        await asyncio.sleep(seconds * (1 - WARM_SHARE) / SAMPLES)
    return sampled


async def _verified(data_dir: Path, tally: Tally) -> tuple[set[str], set[str], list[checker.Violation]]:
    connection = await asyncpg.connect(embedded.ensure_running(data_dir).dsn)
    try:
        rows = await connection.fetch("SELECT content, count(*) FROM memhub.memory_revisions GROUP BY content")
        stored = {row["content"]: row["count"] for row in rows}
        lost = tally.written - stored.keys()
        doubled = {content for content, count in stored.items() if count > 1}
        return lost, doubled, await checker.check(connection)
    finally:
        await connection.close()
