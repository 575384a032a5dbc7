"""The reaper, queue `retention`: takes expired memories out of the search tables, every minute."""

from __future__ import annotations

from procrastinate import App

from shared import retention
from shared.database import Database
from shared.outbox import RETENTION_QUEUE
from shared.retention import REAP_TASK
from shared.settings import Settings
from workers.retry import Backoff
from workers.schedule import defer_if_overdue, periodic

CRON = "* * * * *"
PERIOD_S = 60.0


class ReaperActor:
    """Search never needs it: the view that retrieval reads knows the time. It keeps the tables small."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self._database = database
        self._settings = settings

    def register(self, app: App) -> None:
        periodic(app, self.reap, name=REAP_TASK, queue=RETENTION_QUEUE, cron=CRON, retry=Backoff(self._settings))

    async def start(self) -> None:
        await defer_if_overdue(self._database, REAP_TASK, queue=RETENTION_QUEUE, period_s=PERIOD_S)

    async def reap(self, timestamp: int = 0) -> None:
        await retention.reap(self._database)
