"""The state of the fleet as the database shows it: backlog, failures, coverage, heartbeats, last runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import asyncpg
import orjson

from shared import statements
from shared.counters import Flushes
from shared.database import Database, PoolUse
from shared.embedding.registry import State
from shared.outbox import QUEUES
from shared.settings import Settings

JOBS_LISTED_MAX = 20

_SQL = statements.load("status")
_QUEUES = _SQL["queues"]
_TROUBLED_JOBS = _SQL["troubled_jobs"]
_MODELS = _SQL["models"]
_WORKERS = _SQL["workers"]
_LAST_RUNS = _SQL["last_runs"]
_NOW = _SQL["now"]


@dataclass(frozen=True, slots=True)
class Queue:
    """`oldest_due_age_s` is None when no job is due."""

    queue: str
    todo: int
    doing: int
    failed: int
    oldest_due_age_s: float | None


@dataclass(frozen=True, slots=True)
class TroubledJob:
    """A job that failed; with another status than `failed` it runs again. `error` says why the last run failed."""

    job_id: int
    queue: str
    task: str
    status: str
    attempts: int
    error: str | None
    failed_at: datetime | None


@dataclass(frozen=True, slots=True)
class Model:
    """`waiting` revisions have no vectors yet, `given_up` of them were tried too often, `error` is one's reason."""

    id: int
    name: str
    state: State
    dimension: int
    floor: float
    searchable: int
    embedded: int
    waiting: int
    given_up: int
    error: str | None

    @property
    def coverage(self) -> float:
        """Share of what search may find; 1 where there is nothing."""
        return self.embedded / self.searchable if self.searchable else 1.0


@dataclass(frozen=True, slots=True)
class WorkerProcess:
    """A worker that is silent for longer than MEMHUB_WORKER_SILENCE_S is `alive` no more; its jobs are taken up."""

    worker_id: int
    host: str | None
    pid: int | None
    queues: tuple[str, ...]
    concurrency: int | None
    started_at: datetime | None
    heartbeat_age_s: float
    doing: int
    alive: bool


@dataclass(frozen=True, slots=True)
class Run:
    actor: str
    started_at: datetime
    finished_at: datetime
    outcome: str
    details: dict[str, int]
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """`as_json` is what `memhub status --json` prints; its keys are stable."""

    at: datetime
    queues: tuple[Queue, ...]
    troubled_jobs: tuple[TroubledJob, ...]
    models: tuple[Model, ...]
    workers: tuple[WorkerProcess, ...]
    last_runs: tuple[Run, ...]

    def as_json(self) -> bytes:
        return orjson.dumps(self.as_dict())

    def as_dict(self) -> dict[str, Any]:
        models = [asdict(model) | {"coverage": round(model.coverage, 4)} for model in self.models]
        return asdict(self) | {"models": models}


@dataclass(frozen=True, slots=True)
class Load:
    """How much there is to do, and how many connections do it; `flushes` are those of a server, which counts hits."""

    pools: Sequence[PoolUse]
    queues: Sequence[Queue]
    flushes: Flushes | None


async def load(database: Database, flushes: Flushes | None = None) -> Load:
    """Reads only."""
    async with database.connection("read") as connection:
        return Load(pools=database.use(), queues=await queues(connection), flushes=flushes)


async def models(connection: asyncpg.Connection, settings: Settings) -> tuple[Model, ...]:
    """Those that the database knows, with how much each has embedded. Reads only."""
    return tuple(Model(**row) for row in await connection.fetch(_MODELS, settings.embedding_attempts_max))


async def queues(connection: asyncpg.Connection) -> tuple[Queue, ...]:
    """The backlog of the fleet. Reads only."""
    return tuple(Queue(**row) for row in await connection.fetch(_QUEUES, list(QUEUES)))


async def workers(connection: asyncpg.Connection, settings: Settings) -> tuple[WorkerProcess, ...]:
    """Those that ever sent a heartbeat and were not forgotten. Reads only."""
    return tuple(_worker(row, silence_s=settings.worker_silence_s) for row in await connection.fetch(_WORKERS))


async def status(connection: asyncpg.Connection, settings: Settings) -> Status:
    """Reads only, all at one instant."""
    names = list(QUEUES)
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        at: datetime = await connection.fetchval(_NOW)
        backlog = await queues(connection)
        troubled = await connection.fetch(_TROUBLED_JOBS, names, JOBS_LISTED_MAX)
        known = await models(connection, settings)
        processes = await workers(connection, settings)
        runs = await connection.fetch(_LAST_RUNS)
    return Status(
        at=at,
        queues=backlog,
        troubled_jobs=tuple(TroubledJob(**row) for row in troubled),
        models=known,
        workers=processes,
        last_runs=tuple(Run(**dict(row) | {"details": orjson.loads(row["details"])}) for row in runs),
    )


def _worker(row: asyncpg.Record, *, silence_s: float) -> WorkerProcess:
    shown = {"queues": tuple(row["queues"] or ()), "alive": row["heartbeat_age_s"] <= silence_s}
    return WorkerProcess(**dict(row) | shown)
