"""The tender, queue `retention`: takes up the jobs of dead workers, which procrastinate leaves `doing` for ever."""

from __future__ import annotations

from procrastinate import App

from shared import logs, statements
from shared.database import Database
from shared.outbox import QUEUES, RETENTION_QUEUE
from shared.settings import Settings
from workers.retry import Backoff
from workers.runs import recorded
from workers.schedule import defer_once, periodic

TEND_TASK = "tend_jobs"
BATCH_ROWS = 500

_SQL = statements.load("fleet")
_TAKE_UP = _SQL["take_up"]
_RECORD_JOB_ERROR = _SQL["record_job_error"]
_PRUNE_WORKERS = _SQL["prune_workers"]
_WAKE = _SQL["wake"]


class TenderActor:
    def __init__(self, database: Database, settings: Settings) -> None:
        self._database = database
        self._settings = settings

    def register(self, app: App) -> None:
        every = f"* * * * * */{self._settings.tend_every_s}"
        periodic(app, self.tend, name=TEND_TASK, queue=RETENTION_QUEUE, cron=every, retry=Backoff(self._settings))

    async def start(self) -> None:
        await defer_once(self._database, TEND_TASK, queue=RETENTION_QUEUE)

    async def tend(self, timestamp: int = 0) -> None:
        """Puts stalled jobs back, after `job_attempts_max` runs to `failed` with a reason; forgets dead workers."""
        silence_s, attempts_max = self._settings.worker_silence_s, self._settings.job_attempts_max
        reason = f"WORKER_DIED: its worker ended or fell silent for {silence_s:g} s in each of {attempts_max} runs"
        async with recorded(self._database, TEND_TASK) as details:
            async with self._database.connection("write") as connection, connection.transaction():
                stalled = await connection.fetch(_TAKE_UP, list(QUEUES), silence_s, attempts_max, BATCH_ROWS)
                failed = [row["id"] for row in stalled if not row["again"]]
                for job_id in failed:
                    await connection.execute(_RECORD_JOB_ERROR, job_id, reason)
                await connection.execute(_PRUNE_WORKERS, silence_s)
            details |= {"taken_up": len(stalled) - len(failed), "failed": len(failed)}
            if stalled:
                logs.event("jobs_taken_up", level="WARNING", **details)
                async with self._database.connection("write") as connection:
                    await connection.execute(_WAKE, list(QUEUES))
