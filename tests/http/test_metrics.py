"""What a server process counts, and that nothing of a caller is among it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests import scraping
from tests.http.callers import Era, client, plain
from tests.http.conftest import KEY
from tests.http.processes import Process, serving
from tests.scraping import Samples, at

OWN = "tenant-of-this-test"
WAIT_S = 120
SECRET = "ghp_" + "a1B2" * 9


@pytest.fixture
def alone(tmp_path: Path, database_url: str) -> Iterator[Process]:
    with serving(tmp_path, MEMHUB_DATABASE_URL=database_url, MEMHUB_API_KEY=KEY) as process:
        yield process


async def scraped(process: Process) -> tuple[Samples, str]:
    async with plain(process.url) as http:
        answer = await http.get("/metrics", headers={"Authorization": f"Bearer {KEY}"})
    assert answer.status_code == 200
    return scraping.samples(answer.text), answer.text


async def test_calls_are_counted_by_tool_and_outcome(alone: Process, era: Era) -> None:
    async with client(alone.url, era, key=KEY, tenant=OWN) as raw:
        stored = await raw.use("memory_remember", content="Counted once.")
        memory_id = stored["memory"]["memory_id"]
        for _ in range(2):
            await raw.use("memory_revise", memory_id=memory_id, expected_revision=1, content="Counted twice.")
        await raw.refused("memory_remember", content=SECRET)
        await raw.refused("memory_search", mode="no-such-mode")
        await raw.use("memory_search", query="counted")
        await raw.use("memory_search")
        await raw.read("memory://projects")
    samples, _text = await scraped(alone)
    assert at(samples, "memhub_tool_calls_total", tool="memory_remember", outcome="created") == 1
    assert at(samples, "memhub_tool_calls_total", tool="memory_revise", outcome="conflict") == 1
    assert at(samples, "memhub_tool_calls_total", tool="memory_search", outcome="INVALID_ARGUMENT") == 1
    assert at(samples, "memhub_tool_call_seconds_count", tool="memory_search", outcome="found") == 2
    assert at(samples, "memhub_conflicts_total") == 1
    assert at(samples, "memhub_writes_total", outcome="created") == 1
    assert at(samples, "memhub_resource_calls_total", event="resource_read", outcome="read") == 1
    assert sum(value for (name, _), value in samples.items() if name == "memhub_screening_refusals_total") == 1


async def test_a_search_is_timed_by_its_legs_and_told_where_it_lacks_one(alone: Process) -> None:
    """No embedder is there: the vector is asked for and not had; browsing asks for none."""
    async with client(alone.url, "2026-07-28", key=KEY, tenant=OWN) as raw:
        await raw.use("memory_remember", content="Counted once.")
        await raw.use("memory_search", query="counted")
        await raw.use("memory_context", query="counted")
        await raw.use("memory_search")
    samples, _text = await scraped(alone)
    for leg in ("embedding", "lexical", "whole"):
        assert at(samples, "memhub_search_seconds_count", leg=leg) == 2
    assert ("memhub_search_seconds_count", (("leg", "hybrid"),)) not in samples
    assert at(samples, "memhub_degraded_answers_total", tool="memory_search") == 1


async def test_the_database_the_fleet_and_the_flushes_are_told(tmp_path: Path, database_url: str) -> None:
    settings = {"MEMHUB_DATABASE_URL": database_url, "MEMHUB_API_KEY": KEY, "MEMHUB_STATS_FLUSH_S": "0.1"}
    with serving(tmp_path, **settings) as process:
        async with client(process.url, "2026-07-28", key=KEY, tenant=OWN) as raw:
            await raw.use("memory_remember", content="Counted once.")
            await raw.use("memory_search", query="counted")
            async with asyncio.timeout(WAIT_S):
                while not _is_told(samples := (await scraped(process))[0]):
                    await raw.use("memory_search", query="counted")
    assert at(samples, "memhub_counter_flushes_total", outcome="failed") == 0
    assert at(samples, "memhub_counter_hits_missed_total") == 0
    assert at(samples, "memhub_database_up") == 1
    assert at(samples, "memhub_pool_connections", pool="write", state="max") == 10
    assert at(samples, "memhub_queue_jobs", queue="embed", status="todo") == 1
    assert at(samples, "memhub_queue_oldest_seconds", queue="embed") >= 0
    assert at(samples, "memhub_semantic_coverage", model="current") == 0
    assert at(samples, "memhub_embedding_work", model="current", state="waiting") == 1


def _is_told(samples: Samples) -> bool:
    """Whether something was flushed, and the database was asked in time."""
    flushed = at(samples, "memhub_counter_flushes_total", outcome="written")
    return bool(flushed and at(samples, "memhub_database_up"))


async def hostile(process: Process) -> list[str]:
    """What a caller may choose, chosen at random; gives the words."""
    words = [f"w{uuid4().hex}" for _ in range(6)]
    tool, uri, path, query, tenant, client_name = words
    async with client(process.url, "2026-07-28", key=KEY, tenant=OWN) as raw:
        await raw.request("tools/call", {"name": tool, "arguments": {query: 1}})
        await raw.request("prompts/get", {"name": tool, "arguments": {}})
        await raw.request(tool, {})
        await raw.use("memory_search", query=query, tags=[query])
        await raw.call("memory_search", headers=(), **{query: query})
        await raw.refused("memory_search", project=query)
        await raw.refused("memory_remember", content=f"{SECRET[:-4]}{query[:4]}")
        await raw.read(f"memory://{uri}")
        await raw.http.get(f"/{path}", headers=raw.all_headers())
        await raw.http.request("PROPFIND", f"/mcp?{path}", headers=raw.all_headers())
        await raw.request("tools/list", {}, headers=[("X-Memory-Tenant", tenant), ("X-Client", client_name)])
    async with client(process.url, "2026-07-28", key=KEY, tenant=tenant) as raw:
        await raw.use("memory_remember", content=query, client_request_id=path)
    return words


async def test_no_label_is_a_caller_s_and_their_number_is_bounded(alone: Process) -> None:
    first = await hostile(alone)
    await scraped(alone)
    before, _text = await scraped(alone)
    second = await hostile(alone)
    after, text = await scraped(alone)
    assert scraping.series(after) == scraping.series(before)
    assert not re.search("|".join((OWN, KEY, *first, *second)), text)
    assert 'path="other"' in text


async def test_metrics_ask_for_the_credential_that_everything_asks_for(alone: Process) -> None:
    async with plain(alone.url) as http:
        assert (await http.get("/metrics")).status_code == 401


async def test_metrics_are_there_while_the_database_is_not(tmp_path: Path) -> None:
    with serving(tmp_path, MEMHUB_DATABASE_URL="postgresql://nobody@127.0.0.1:1/none", MEMHUB_API_KEY=KEY) as process:
        samples, _text = await scraped(process)
    assert at(samples, "memhub_database_up") == 0
    assert not any(name == "memhub_queue_jobs" for name, _labels in samples)
