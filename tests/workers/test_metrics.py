"""What a worker tells Prometheus on its endpoint: on the socket of its data folder, or on a port of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import asyncpg
import httpx2

from shared.outbox import EMBED_QUEUE, Job, encode
from tests import scraping
from tests.ports import free_port
from tests.scraping import Samples, at
from tests.workers.conftest import Write
from tests.workers.fake import FakeEmbedder
from tests.workers.processes import environment, model_server, worker
from tests.workers.test_embedder import WHOLE
from tests.workers.waiting import POLL_S, WAIT_S, until

DEFER = """SELECT procrastinate_defer_jobs_v1(ARRAY(
               SELECT jsonb_populate_record(NULL::procrastinate_job_to_defer_v1, job)
               FROM jsonb_array_elements($1::text::jsonb) AS job))"""


async def scraped(http: httpx2.AsyncClient, when: Callable[[Samples], bool]) -> tuple[Samples, str]:
    """The first scrape of which that holds."""
    ends_s = asyncio.get_running_loop().time() + WAIT_S
    while asyncio.get_running_loop().time() < ends_s:
        try:
            text = (await http.get("/metrics")).text
            if when(samples := scraping.samples(text)):
                return samples, text
        except httpx2.TransportError:
            pass
        await asyncio.sleep(POLL_S)
    raise AssertionError("never")


def jobs(samples: Samples, **labels: str) -> float:
    return samples.get(("memhub_jobs_total", tuple(sorted(labels.items()))), 0)


async def test_jobs_are_counted_by_task_and_outcome(
    connection: asyncpg.Connection, database_url: str, data_dir: Path, fake: FakeEmbedder, write: Write
) -> None:
    bad = Job(EMBED_QUEUE, "embed_revision", {"project_id": "hidden", "memory_id": "hidden", "revision_no": 1})
    stray = Job(EMBED_QUEUE, "made-up-by-somebody", {})
    await connection.execute(DEFER, encode(bad, stray))
    transport = httpx2.AsyncHTTPTransport(uds=str(data_dir / "run" / "embedder.sock"))
    async with (
        model_server(fake) as provider,
        httpx2.AsyncClient(transport=transport, base_url="http://x", timeout=WAIT_S) as http,
    ):
        settings = environment(database_url, data_dir, **provider, MEMHUB_JOB_ATTEMPTS_MAX="2")
        with worker("--queues", "embed", environment=settings):
            await until(connection, "SELECT EXISTS (SELECT FROM memhub.embedding_models)")
            await write("Counted")
            await until(connection, WHOLE)
            samples, text = await scraped(
                http,
                lambda seen: (
                    bool(at(seen, "memhub_database_up"))
                    and bool(jobs(seen, task="embed_revision", outcome="failed"))
                    and bool(jobs(seen, task="embed_revision", outcome="succeeded"))
                ),
            )
    assert jobs(samples, task="embed_revision", outcome="retried") == 1
    assert jobs(samples, task="embed_revision", outcome="failed") == 1
    assert at(samples, "memhub_job_seconds_count", task="embed_revision") >= 3
    assert at(samples, "memhub_database_up") == 1
    assert at(samples, "memhub_pool_connections", pool="read", state="max") == 10
    assert ("memhub_semantic_coverage", (("model", "current"),)) in samples
    assert "made-up" not in text
    assert "hidden" not in text


async def test_a_worker_without_the_queue_of_embeddings_tells_on_the_port_that_it_is_given(
    database_url: str, data_dir: Path
) -> None:
    port = free_port()
    settings = environment(database_url, data_dir, MEMHUB_EMBEDDING_PROVIDER="none")
    arguments = ("--queues", "counters,retention", "--endpoint", f"127.0.0.1:{port}")
    async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=WAIT_S) as http:
        with worker(*arguments, environment=settings):
            samples, _text = await scraped(
                http,
                lambda seen: (
                    bool(jobs(seen, task="tend_jobs", outcome="succeeded"))
                    and any(name == "memhub_queue_jobs" for name, _ in seen)
                ),
            )
            refused = await http.post("/v1/embeddings", json={"model": "any", "input": "query"})
    assert at(samples, "memhub_queue_jobs", queue="retention", status="failed") == 0
    assert refused.status_code == 404
