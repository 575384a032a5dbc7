"""`memhub status`: the fleet as the database shows it."""

from __future__ import annotations

import socket
import sys
from datetime import datetime

from rich.table import Table
from rich.text import Text

from ops.absences import no_worker
from ops.looking import looking
from ops.terminal import Terminal
from shared.settings import Settings
from shared.status import Model, Queue, Run, Status, TroubledJob, WorkerProcess
from shared.status import status as read

REASON_CHARACTERS_MAX = 120


async def show(settings: Settings, *, as_json: bool) -> int:
    """Prints it; 0 also when something in it is not well: `memhub doctor` judges."""
    async with looking(settings) as connection:
        found = await read(connection, settings)
    if as_json:
        sys.stdout.write(found.as_json().decode() + "\n")
        return 0
    console = Terminal(width=None if sys.stdout.isatty() else 160)
    for table in (
        _workers(found, settings),
        _queues(found.queues),
        _models(found.models),
        _runs(found.last_runs, found.at),
    ):
        console.print(table, "")
    if found.troubled_jobs:
        console.print(_troubled(found.troubled_jobs), "")
    return 0


async def probe(settings: Settings) -> int:
    """For health checks of a container: 0 when a worker of this host is alive, else 1."""
    async with looking(settings) as connection:
        found = await read(connection, settings)
    host = socket.gethostname()
    here = [worker for worker in found.workers if worker.alive and worker.host == host]
    if not here:
        print(f"memhub: no worker of {host} is alive.", file=sys.stderr)
        return 1
    for worker in here:
        print(f"Alive: {_process(worker)}, last heard {_span(worker.heartbeat_age_s)} ago, {', '.join(worker.queues)}.")
    return 0


def _table(title: str, *columns: str) -> Table:
    return Table(*columns, title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)


def _nothing(title: str, told: str) -> Text:
    return Text.assemble((title, "bold"), f": {told}")


def _workers(found: Status, settings: Settings) -> Table | Text:
    if not found.workers:
        nobody = no_worker(settings)
        return _nothing("Workers", f"{nobody.detail}{nobody.mend and f'. {nobody.mend}'}")
    table = _table("Workers", "process", "queues", "jobs at a time", "in hand", "last heartbeat")
    for worker in found.workers:
        table.add_row(
            _process(worker), ", ".join(worker.queues), _text(worker.concurrency), str(worker.doing), _beat(worker)
        )
    return table


def _process(worker: WorkerProcess) -> str:
    return f"{worker.host or '?'}:{worker.pid or '?'}"


def _beat(worker: WorkerProcess) -> Text:
    ago = f"{_span(worker.heartbeat_age_s)} ago"
    return Text(ago) if worker.alive else Text(f"silent, {ago}", "red")


def _queues(queues: tuple[Queue, ...]) -> Table:
    table = _table("Queues", "queue", "waiting", "under way", "failed", "oldest due")
    for queue in queues:
        failed = _bad(queue.failed)
        oldest = "" if queue.oldest_due_age_s is None else _span(queue.oldest_due_age_s)
        table.add_row(queue.queue, str(queue.todo), str(queue.doing), failed, oldest)
    return table


def _models(models: tuple[Model, ...]) -> Table | Text:
    if not models:
        return _nothing("Embeddings", "no model yet")
    table = _table("Embeddings", "model", "state", "dimension", "coverage", "waiting", "given up", "reason")
    for model in models:
        coverage = f"{model.coverage:.1%} of {model.searchable}"
        given_up = _bad(model.given_up)
        row = (model.name, model.state, str(model.dimension), coverage, str(model.waiting), given_up)
        table.add_row(*row, _short(model.error))
    return table


def _runs(runs: tuple[Run, ...], now: datetime) -> Table | Text:
    if not runs:
        return _nothing("Runs", "none yet")
    table = _table("Last runs", "actor", "when", "outcome", "did", "reason")
    for run in runs:
        did = ", ".join(f"{name} {count}" for name, count in sorted(run.details.items()) if count)
        ago = f"{_span((now - run.finished_at).total_seconds())} ago"
        table.add_row(run.actor, ago, run.outcome, did, _short(run.error))
    return table


def _troubled(jobs: tuple[TroubledJob, ...]) -> Table:
    table = _table("Jobs in trouble: memhub jobs retry ID", "job", "queue", "task", "state", "runs", "reason")
    for job in jobs:
        state = Text("failed", "red") if job.status == "failed" else Text("runs again")
        table.add_row(str(job.job_id), job.queue, job.task, state, str(job.attempts), _short(job.error))
    return table


def _bad(count: int) -> Text:
    return Text(str(count), "red" if count else "")


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _short(reason: str | None) -> str:
    line = " ".join((reason or "").split())
    return line if len(line) <= REASON_CHARACTERS_MAX else line[:REASON_CHARACTERS_MAX] + " ..."


def _span(seconds: float) -> str:
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"
