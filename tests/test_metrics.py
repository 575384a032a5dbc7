"""The table of metrics in docs/operating.md, held to what servers and workers tell; how often the database is asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from procrastinate import App, JobContext
from procrastinate.jobs import Job
from procrastinate.testing import InMemoryConnector
from procrastinate.worker import Worker
from prometheus_client import CollectorRegistry
from starlette.requests import Request

from server.gateway import Gateway
from server.http.metrics import Metrics as ServerMetrics
from server.postgres import open_backend
from shared.database import Database
from shared.errors import BackendUnavailable
from shared.metrics import LOAD_FRESH_S, MODELS_FRESH_S, LoadCollector
from shared.settings import Settings
from shared.status import Load, Model
from workers.metrics import Metrics as WorkerMetrics

PAGE = Path(__file__).parents[1] / "docs" / "operating.md"
ROW = re.compile(r"^\| `(memhub_\w+)` \| ([^|]*)\| (server|worker|both) \|", re.MULTILINE)
SCRAPE = Request({"type": "http"})

Told = dict[str, set[str]]


def told(registry: CollectorRegistry) -> Told:
    """The labels of every metric by its name, as PromQL has it."""
    return {
        family.name + ("_total" if family.type == "counter" else ""): {
            label for sample in family.samples for label in sample.labels if label != "le"
        }
        for family in registry.collect()
    }


async def of_server(settings: Settings) -> Told:
    gateway = Gateway(opener=partial(open_backend, settings))
    metrics = ServerMetrics(gateway, watches=lambda: 0)
    metrics.called("tool_call", "memory_revise", outcome="conflict", seconds=0)
    metrics.called("resource_read", None, outcome="read", seconds=0)
    metrics.searched("whole", seconds=0)
    metrics.degraded("memory_search")
    metrics.screened("detector")

    async def app(_scope: object, _receive: object, send: object) -> None:
        await send({"type": "http.response.start", "status": 200})  # type: ignore[operator]

    async def nowhere(*_message: object) -> None:
        pass

    await metrics.counting(app)({"type": "http", "path": "/mcp"}, nowhere, nowhere)  # type: ignore[arg-type]
    await metrics.answer(SCRAPE)
    await gateway.aclose()
    return told(metrics.registry)


async def of_worker(settings: Settings, url: str) -> Told:
    metrics = WorkerMetrics(settings)
    database = await Database.open(url, settings, application="tests")
    app = App(connector=InMemoryConnector())
    job = Job(id=1, queue="embed", lock=None, queueing_lock=None, task_name="embed_revision")
    context = JobContext(app=app, job=job, start_timestamp=0, abort_reason=lambda: None)

    async def done() -> None:
        pass

    await metrics.counted(done, context, Worker(app))
    with metrics.watching(database):
        await metrics.answer(SCRAPE)
    await database.aclose()
    return told(metrics.registry)


async def test_the_page_lists_every_metric_with_its_labels_and_no_other(database_url: str, tmp_path: Path) -> None:
    settings = Settings(database_url=database_url, data_dir=tmp_path)
    server, worker = await of_server(settings), await of_worker(settings, database_url)
    for name, labels in worker.items():
        assert server.get(name, labels) == labels
    code = {
        name: (labels, "both" if name in server and name in worker else "server" if name in server else "worker")
        for name, labels in (server | worker).items()
    }
    page = {
        name: (set(re.findall(r"`(\w+)`", labels)), of) for name, labels, of in ROW.findall(PAGE.read_text("utf-8"))
    }
    assert page == code


async def test_the_database_is_asked_now_and_then_however_often_a_process_is_scraped() -> None:
    """Fails without the comparison of ages in shared/metrics.py."""
    asked: list[str] = []
    now_s = 100.0

    async def load() -> Load:
        asked.append("load")
        return Load(pools=(), queues=(), flushes=None)

    async def models() -> Sequence[Model]:
        asked.append("models")
        return ()

    collector = LoadCollector(load=load, models=models, clock=lambda: now_s)
    for _ in range(10):
        await collector.look()
    assert asked == ["load", "models"]
    now_s += LOAD_FRESH_S
    await collector.look()
    assert asked == ["load", "models", "load"]
    now_s += MODELS_FRESH_S
    await collector.look()
    assert asked[3:] == ["load", "models"]


async def test_what_a_lost_database_said_is_told_no_more_and_it_is_asked_again_in_its_time() -> None:
    away = False

    async def load() -> Load:
        if away:
            raise BackendUnavailable("away", next="wait")
        return Load(pools=(), queues=(), flushes=None)

    async def models() -> Sequence[Model]:
        return (Model(1, "m", "current", 384, 0.25, searchable=2, embedded=1, waiting=1, given_up=0, error=None),)

    now_s = 100.0
    collector = LoadCollector(load=load, models=models, clock=lambda: now_s)

    async def looked() -> dict[tuple[str, tuple[str, ...]], float]:
        await collector.look()
        return {
            (sample.name, tuple(sample.labels.values())): sample.value
            for family in collector.collect()
            for sample in family.samples
        }

    assert (await looked())["memhub_semantic_coverage", ("current",)] == 0.5
    away, now_s = True, now_s + LOAD_FRESH_S
    assert await looked() == {("memhub_database_up", ()): 0}
    away = False
    # Fails when what failed may be asked for sooner.
    assert await looked() == {("memhub_database_up", ()): 0}
    now_s += LOAD_FRESH_S
    assert (await looked())["memhub_database_up", ()] == 1
