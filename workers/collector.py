"""The collector, queue `retention`: removes spent bookkeeping, hourly and in bounded batches, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from procrastinate import App

from shared import outbox, statements
from shared.database import Database
from shared.settings import Settings
from workers import folder
from workers.reaper import QUEUE
from workers.retry import Backoff
from workers.runs import Details, recorded
from workers.schedule import defer_if_overdue, periodic

COLLECT_TASK = "collect_spent"
CRON = "7 * * * *"
PERIOD_S = 3600.0
BATCH_ROWS = 1_000
BATCHES_MAX = 500
RUNS_KEPT_MAX = 1_000

JOB_QUEUES = [outbox.EMBED_QUEUE, folder.QUEUE, QUEUE]

_SQL = statements.load("retention")
_KEYS = _SQL["collect_idempotency_keys"]
_JOBS = _SQL["collect_jobs"]
_WORK = _SQL["collect_embedding_work"]
_RUNS = _SQL["collect_runs"]
_FOLD = statements.load("counters")["fold"]


class CollectorActor:
    def __init__(self, database: Database, settings: Settings) -> None:
        self._database = database
        self._settings = settings

    def register(self, app: App) -> None:
        periodic(app, self.collect, name=COLLECT_TASK, queue=QUEUE, cron=CRON, retry=Backoff(self._settings))

    async def start(self) -> None:
        await defer_if_overdue(self._database, COLLECT_TASK, queue=QUEUE, period_s=PERIOD_S)

    async def collect(self, timestamp: int = 0) -> None:
        """Each kind in transactions of BATCH_ROWS; deltas that no folder took are folded, never dropped."""
        async with recorded(self._database, COLLECT_TASK) as details:
            for kind, (statement, arguments) in self._kinds().items():
                await self._remove(details, kind, statement, arguments)

    def _kinds(self) -> Mapping[str, tuple[str, Sequence[object]]]:
        settings = self._settings
        ended = ["succeeded", "cancelled", "aborted"]
        return {
            "idempotency_keys": (_KEYS, (settings.idempotency_retention_days,)),
            "ended_jobs": (_JOBS, (JOB_QUEUES, ended, settings.job_retention_days)),
            "failed_jobs": (_JOBS, (JOB_QUEUES, ["failed"], settings.failed_job_retention_days)),
            "embedding_work": (_WORK, ()),
            "runs": (_RUNS, (settings.run_retention_days, RUNS_KEPT_MAX)),
            "folded_deltas": (_FOLD, ()),
        }

    async def _remove(self, details: Details, kind: str, statement: str, arguments: Sequence[object]) -> None:
        details[kind] = 0
        for _ in range(BATCHES_MAX):
            async with self._database.connection("write") as connection:
                removed = await connection.fetchval(statement, *arguments, BATCH_ROWS)
            details[kind] += removed
            if removed < BATCH_ROWS:
                return
