"""Spans reach a collector where OpenTelemetry's own variables name one: of a call, its statements and its job."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import psycopg
import pytest

from tests.collector import WAIT_S, Collector, collecting, told
from tests.http.callers import RawClient, client
from tests.http.processes import Process, serving
from tests.workers.processes import environment, ran, worker

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SECRET = "Zanzibar keeps the harbour open."
TAG = "tag-nobody-may-read"
OWED = "SELECT FROM procrastinate_jobs WHERE task_name = 'embed_revision' AND status <> 'succeeded'"
JOBS = "SELECT args FROM procrastinate_jobs WHERE task_name = 'embed_revision'"


def embedding(database_url: str, folder: Path, collector: Collector) -> AbstractContextManager[object]:
    """A worker that stays: one that ends gives what it has still to send a second."""
    settings = environment(database_url, folder, **collector.settings)
    return worker("--queues", "embed", "--no-endpoint", environment=settings)


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as collector:
        yield collector


@pytest.fixture
def traced(tmp_path: Path, database_url: str, collector: Collector) -> Iterator[Process]:
    with serving(tmp_path, MEMHUB_DATABASE_URL=database_url, **collector.settings) as process:
        yield process


async def remember(raw: RawClient, *, sampled: bool = True) -> None:
    arguments = {"content": SECRET, "tags": [TAG], "client_request_id": "key-of-a-retry"}
    message, own = raw.message("tools/call", {"name": "memory_remember", "arguments": arguments})
    message["params"]["_meta"]["traceparent"] = f"00-{TRACE}-{PARENT}-0{int(sampled)}"
    message["params"]["_meta"]["tracestate"] = "vendor=words-of-the-caller"
    answer = await raw.post(message, headers=own)
    assert answer.json()["result"]["structuredContent"]["outcome"] == "created"


async def test_a_call_is_one_request_in_log_audit_and_trace(
    traced: Process, collector: Collector, database_url: str
) -> None:
    async with client(traced.url, "2026-07-28", tenant="t") as raw:
        await remember(raw)
    logged = traced.event("tool_call")
    span = collector.named("memhub-server", "tools/call memory_remember")
    assert told(span)["memhub.request_id"] == logged["request_id"]
    assert (span.trace_id.hex(), span.parent_span_id.hex(), logged["trace"]) == (TRACE, PARENT, TRACE)
    with psycopg.connect(database_url) as database:
        audited = database.execute("SELECT request_id FROM memhub.audit_events WHERE event = 'remembered'").fetchone()
    assert audited == (logged["request_id"],)


async def test_one_trace_goes_from_the_call_over_its_statements_to_its_job_in_another_process(
    traced: Process, collector: Collector, database_url: str, tmp_path: Path
) -> None:
    """Fails without the connection class in shared/database.py, or the job's traceparent in shared/outbox.py."""
    async with client(traced.url, "2026-07-28", tenant="t") as raw:
        await remember(raw)
    call = collector.named("memhub-server", "tools/call memory_remember")
    written = collector.named("memhub-server", "memories.remember")
    with embedding(database_url, tmp_path, collector):
        job = collector.named("memhub-worker", "embed_revision")
        claimed = collector.find(
            "memhub-worker", lambda span: span.parent_span_id == job.span_id and span.name[0] == "e"
        )
    assert {span.trace_id.hex() for span in (call, written, job, claimed)} == {TRACE}
    assert written.parent_span_id == job.parent_span_id == call.span_id
    assert told(job)["messaging.destination.name"] == "embed"
    assert claimed.name.startswith("embedding.")
    assert not b"".join(collector.bodies).count(b"SELECT")


async def test_a_span_tells_nothing_of_what_was_said(
    traced: Process, collector: Collector, database_url: str, tmp_path: Path
) -> None:
    async with client(traced.url, "2026-07-28", tenant="tenant-of-mine") as raw:
        await remember(raw)
        await raw.use("memory_search", query="harbour of Zanzibar")
        await raw.refused("memory_remember", content="ghp_" + "a1B2" * 9)
        await raw.request("tools/call", {"name": "made-up-by-a-caller", "arguments": {"content": SECRET}})
        await raw.request("prompts/get", {"name": "made-up-by-a-caller"})
    with embedding(database_url, tmp_path, collector):
        collector.named("memhub-worker", "embed_revision")
    for unknown in ("tools/call unknown", "prompts/get unknown"):
        collector.named("memhub-server", unknown)
    collector.named("memhub-server", "retrieval.candidates")
    sent = b"".join(collector.bodies)
    for said in ("Zanzibar", TAG, "harbour", "ghp_", "key-of-a-retry", "made-up", "INSERT"):
        assert said.encode() not in sent, said


async def test_a_job_carries_the_trace_and_nothing_else_of_the_caller(
    traced: Process, collector: Collector, database_url: str
) -> None:
    async with client(traced.url, "2026-07-28", tenant="t") as raw:
        await remember(raw)
    call = collector.named("memhub-server", "tools/call memory_remember")
    with psycopg.connect(database_url) as database:
        [(arguments,)] = database.execute(JOBS).fetchall()
    assert arguments.keys() == {"project_id", "memory_id", "revision_no", "traceparent"}
    assert arguments["traceparent"] == f"00-{TRACE}-{call.span_id.hex()}-01"


async def test_a_trace_that_is_not_sampled_is_not_sampled_in_the_job_either(
    traced: Process, collector: Collector, database_url: str, tmp_path: Path
) -> None:
    async with client(traced.url, "2026-07-28", tenant="t") as raw:
        await remember(raw, sampled=False)
        await raw.use("memory_search")
    collector.named("memhub-server", "tools/call memory_search")
    with embedding(database_url, tmp_path, collector), psycopg.connect(database_url, autocommit=True) as database:
        deadline = time.monotonic() + WAIT_S
        while database.execute(OWED).fetchall():
            assert time.monotonic() < deadline
        collector.named("memhub-worker", "sweep_embeddings")
    assert all(span.trace_id.hex() != TRACE for _, span in collector.spans)


async def test_nothing_is_recorded_where_no_collector_is_named(tmp_path: Path, database_url: str) -> None:
    with serving(tmp_path, MEMHUB_DATABASE_URL=database_url) as process:
        async with client(process.url, "2025-11-25", tenant="t") as raw:
            await raw.use("memory_remember", content="Not traced.")
        assert "trace" not in process.event("tool_call")
    with psycopg.connect(database_url) as database:
        [(arguments,)] = database.execute(JOBS).fetchall()
    assert "traceparent" not in arguments


def test_a_collector_that_does_not_answer_holds_no_process(
    collector: Collector, database_url: str, tmp_path: Path
) -> None:
    """Fails without the bound in tracing.flush."""
    collector.answering.clear()
    patient = environment(database_url, tmp_path, **collector.settings, OTEL_EXPORTER_OTLP_TIMEOUT="3600")
    worked = ran("--once", "--queues", "retention", environment=patient)
    assert worked.returncode == 0, worked.stderr
    assert collector.bodies
