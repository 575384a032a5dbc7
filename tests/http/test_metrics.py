"""What a server process counts, and that nothing of a caller is among it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.http.callers import Era, client
from tests.http.conftest import KEY
from tests.http.processes import Process, serving

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]
OWN = "tenant-of-this-test"
SECRET = "ghp_" + "a1B2" * 9


@pytest.fixture
def alone(tmp_path: Path, database_url: str) -> Iterator[Process]:
    with serving(tmp_path, MEMHUB_DATABASE_URL=database_url, MEMHUB_API_KEY=KEY) as process:
        yield process


async def scraped(process: Process) -> tuple[Samples, str]:
    async with httpx2.AsyncClient(base_url=process.url) as http:
        answer = await http.get("/metrics", headers={"Authorization": f"Bearer {KEY}"})
    assert answer.status_code == 200
    samples: Samples = {}
    for family in text_string_to_metric_families(answer.text):
        for sample in family.samples:
            samples[sample.name, tuple(sorted(sample.labels.items()))] = sample.value
    return samples, answer.text


def at(samples: Samples, name: str, **labels: str) -> float:
    return samples[name, tuple(sorted(labels.items()))]


async def test_calls_are_counted_by_tool_and_outcome(alone: Process, era: Era) -> None:
    async with client(alone.url, era, key=KEY, tenant=OWN) as raw:
        stored = await raw.use("memory_remember", content="Counted once.")
        memory_id = stored["memory"]["memory_id"]
        for _ in range(2):
            await raw.use("memory_revise", memory_id=memory_id, expected_revision=1, content="Counted twice.")
        await raw.refused("memory_remember", content=SECRET)
        await raw.refused("memory_search", mode="no-such-mode")
        await raw.use("memory_search", query="counted")
        await raw.read("memory://projects")
    samples, _text = await scraped(alone)
    assert at(samples, "memhub_tool_calls_total", tool="memory_remember", outcome="created") == 1
    assert at(samples, "memhub_tool_calls_total", tool="memory_revise", outcome="conflict") == 1
    assert at(samples, "memhub_tool_calls_total", tool="memory_search", outcome="INVALID_ARGUMENT") == 1
    assert at(samples, "memhub_tool_call_seconds_count", tool="memory_search", outcome="found") == 1
    assert at(samples, "memhub_conflicts_total") == 1
    assert at(samples, "memhub_writes_total", outcome="created") == 1
    assert at(samples, "memhub_resource_calls_total", event="resource_read", outcome="read") == 1
    assert sum(value for (name, _), value in samples.items() if name == "memhub_screening_refusals_total") == 1
    assert at(samples, "memhub_database_up") == 1
    assert at(samples, "memhub_pool_connections", pool="write", state="max") == 10
    assert at(samples, "memhub_queue_jobs", queue="embed", status="todo") >= 0


async def test_no_label_is_a_caller_s(alone: Process) -> None:
    async with client(alone.url, "2026-07-28", key=KEY, tenant=OWN) as raw:
        await raw.use("memory_search", query="secretquery")
        await raw.request("tools/call", {"name": "no-such-tool", "arguments": {}})
        await raw.http.get("/some/path/of/mine", headers=raw.all_headers())
        await raw.read("memory://no-such-resource")
    _samples, text = await scraped(alone)
    assert not re.search(f"{OWN}|secretquery|no-such|/some/path|{KEY}", text)
    assert 'path="other"' in text


async def test_metrics_ask_for_the_credential_that_everything_asks_for(alone: Process) -> None:
    async with httpx2.AsyncClient(base_url=alone.url) as http:
        assert (await http.get("/metrics")).status_code == 401


async def test_metrics_are_there_while_the_database_is_not(tmp_path: Path) -> None:
    with serving(tmp_path, MEMHUB_DATABASE_URL="postgresql://nobody@127.0.0.1:1/none", MEMHUB_API_KEY=KEY) as process:
        samples, _text = await scraped(process)
    assert at(samples, "memhub_database_up") == 0
