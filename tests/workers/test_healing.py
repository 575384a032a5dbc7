"""Faults between a write and its vector, with the product's own processes: nothing is lost, and it heals by itself."""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg

from shared import embedded, opening, projects
from shared.memories.remember import remember
from shared.memories.requests import Remember
from shared.settings import Settings
from shared.status import status
from tests.server.processes import INITIALIZE, PRODUCT, Raw, running
from tests.server.test_end_to_end import answered
from tests.workers.conftest import AUTHOR
from tests.workers.fake import FakeEmbedder
from tests.workers.processes import SOON_FORGOTTEN, environment, model_server, worker
from tests.workers.test_embedder import WHOLE
from tests.workers.waiting import until

FACT = "Customers are billed on the first of every month."
WORDS, MEANING = "customers billed", "when do clients get their invoice"
FACTS = 80


@contextmanager
def serving(folder: Path, database_url: str) -> Iterator[Raw]:
    settings = {
        "MEMHUB_DATABASE_URL": database_url,
        "MEMHUB_DATA_DIR": str(folder),
        "MEMHUB_QUERY_EMBEDDING_TIMEOUT_S": "10",
    }
    with running(folder, PRODUCT, **settings) as raw:
        raw.send(INITIALIZE, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        raw.answer("init")
        yield raw


async def test_what_was_written_without_an_embedder_is_found_by_words_and_later_by_meaning(
    connection: asyncpg.Connection, database_url: str, data_dir: Path
) -> None:
    """The server is killed after its commit: nobody ever wakes the fleet for what it wrote."""
    with serving(data_dir, database_url) as raw:
        answered(raw, "project_use", project="app", create=True)
        assert answered(raw, "memory_remember", content=FACT)["embedding"] == "pending"
        found = answered(raw, "memory_search", query=WORDS)
        assert [hit["content"] for hit in found["results"]] == [FACT]
        assert (found["semantic_coverage"], found["degraded"]) == (0, "lexical only: embedder_absent")
        assert answered(raw, "memory_search", query=MEANING)["results"] == []
        raw.process.kill()
        raw.process.wait()
    [queue] = [each for each in (await status(connection, Settings())).queues if each.queue == "embed"]
    assert queue.todo == 1

    with worker(environment=environment(database_url, data_dir)), serving(data_dir, database_url) as raw:
        await until(connection, WHOLE)
        found = answered(raw, "memory_search", query=MEANING)
        assert [hit["content"] for hit in found["results"]] == [FACT]
        assert (found["semantic_coverage"], found.get("degraded")) == (1, None)


async def test_postgresql_killed_under_load_loses_no_vector(fake: FakeEmbedder) -> None:
    # Fails without the loop in `_work` of workers/supervisor.py, and without the sweep: claimed rows keep their leases.
    with tempfile.TemporaryDirectory(prefix="mh-", dir="/tmp") as name:
        folder = Path(name)
        async with model_server(fake) as provider:
            with embedded.attach(folder) as cluster:
                await opening.prepare(cluster.dsn, own=True)
                settings = environment("", folder, **provider, **SOON_FORGOTTEN, MEMHUB_EMBEDDING_BATCH_ROWS="4")
                with worker(environment=settings):
                    written = await _killed_in_the_middle(cluster.dsn, folder, fake)
                    await asyncio.to_thread(embedded.ensure_running, folder)
                    session = await asyncpg.connect(cluster.dsn)
                    await until(session, WHOLE)
                    assert await session.fetchval("SELECT count(*) FROM memhub.live_memories") >= written > 0
                    await session.close()
            embedded.stop(folder)


async def _killed_in_the_middle(dsn: str, folder: Path, fake: FakeEmbedder) -> int:
    """How many writes were answered when the server's own process was killed, with a batch in the model."""
    session = await asyncpg.connect(dsn)
    await until(session, "SELECT EXISTS (SELECT FROM memhub.embedding_models WHERE state = 'current')")
    scope = (await projects.use(session, "local", AUTHOR, project="load", aliases={}, create=True)).project
    for number in range(FACTS):
        await remember(session, scope, AUTHOR, Remember(content=f"Fact number {number}"))
        if number == FACTS // 2:
            await until(session, "SELECT count(*) > 0 FROM memhub.live_vectors")
            fake.gate.clear()
    await until(session, "SELECT count(*) > 0 FROM memhub.embedding_work WHERE leased_until > now()")
    os.kill(int((folder / "postgres" / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)
    fake.gate.set()
    session.terminate()
    return FACTS
