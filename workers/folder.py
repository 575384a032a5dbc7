"""The folder, queue `counters`: adds the deltas that servers append up into totals, each once."""

from __future__ import annotations

from procrastinate import App

from shared import statements
from shared.database import Database
from shared.outbox import COUNTERS_QUEUE
from shared.settings import Settings
from workers.retry import Backoff
from workers.runs import recorded
from workers.schedule import defer_once, periodic

FOLD_TASK = "fold_counters"
BATCH_ROWS = 5_000
BATCHES_MAX = 200

_FOLD = statements.load("counters")["fold"]


class FolderActor:
    def __init__(self, database: Database, settings: Settings) -> None:
        self._database = database
        self._settings = settings

    def register(self, app: App) -> None:
        every = f"* * * * * */{self._settings.fold_every_s}"
        periodic(app, self.fold, name=FOLD_TASK, queue=COUNTERS_QUEUE, cron=every, retry=Backoff(self._settings))

    async def start(self) -> None:
        await defer_once(self._database, FOLD_TASK, queue=COUNTERS_QUEUE)

    async def fold(self, timestamp: int = 0) -> None:
        """Folds what is there, in transactions of BATCH_ROWS deltas."""
        async with recorded(self._database, FOLD_TASK) as details:
            details["deltas"] = 0
            for _ in range(BATCHES_MAX):
                async with self._database.connection("write") as connection:
                    folded = await connection.fetchval(_FOLD, BATCH_ROWS)
                details["deltas"] += folded
                if folded < BATCH_ROWS:
                    return
