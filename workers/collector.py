"""The collector, queue `retention`: removes spent bookkeeping, hourly and in bounded batches, and nothing else."""

from __future__ import annotations

from procrastinate import App

from shared import retention
from shared.database import Database
from shared.outbox import RETENTION_QUEUE
from shared.retention import COLLECT_TASK
from shared.settings import Settings
from workers.retry import Backoff
from workers.schedule import defer_if_overdue, periodic

CRON = "7 * * * *"
PERIOD_S = 3600.0


class CollectorActor:
    def __init__(self, database: Database, settings: Settings) -> None:
        self._database = database
        self._settings = settings

    def register(self, app: App) -> None:
        periodic(app, self.collect, name=COLLECT_TASK, queue=RETENTION_QUEUE, cron=CRON, retry=Backoff(self._settings))

    async def start(self) -> None:
        await defer_if_overdue(self._database, COLLECT_TASK, queue=RETENTION_QUEUE, period_s=PERIOD_S)

    async def collect(self, timestamp: int = 0) -> None:
        await retention.collect(self._database, self._settings)
