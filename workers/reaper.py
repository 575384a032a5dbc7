"""The reaper, queue `retention`: takes expired memories out of the search tables, every minute."""

from __future__ import annotations

from procrastinate import App

from shared import statements
from shared.database import Database
from shared.settings import Settings
from workers.retry import Backoff
from workers.runs import recorded
from workers.schedule import defer_if_overdue, periodic

QUEUE = "retention"
REAP_TASK = "reap_expired"
CRON = "* * * * *"
PERIOD_S = 60.0
BATCH_ROWS = 500
BATCHES_MAX = 200

_SQL = statements.load("retention")
_LOCK_EXPIRED = _SQL["lock_expired"]
_REAP = _SQL["reap"]


class ReaperActor:
    """Search never needs it: the view that retrieval reads knows the time. It keeps the tables small."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self._database = database
        self._settings = settings

    def register(self, app: App) -> None:
        periodic(app, self.reap, name=REAP_TASK, queue=QUEUE, cron=CRON, retry=Backoff(self._settings))

    async def start(self) -> None:
        await defer_if_overdue(self._database, REAP_TASK, queue=QUEUE, period_s=PERIOD_S)

    async def reap(self, timestamp: int = 0) -> None:
        async with recorded(self._database, REAP_TASK) as details:
            details["memories"] = 0
            for _ in range(BATCHES_MAX):
                reaped = await self._reap_batch()
                details["memories"] += reaped
                if reaped == 0:
                    return

    async def _reap_batch(self) -> int:
        async with self._database.connection("write") as connection, connection.transaction():
            locked = await connection.fetch(_LOCK_EXPIRED, BATCH_ROWS)
            if not locked:
                return 0
            reaped: int = await connection.fetchval(
                _REAP, [row["project_id"] for row in locked], [row["id"] for row in locked]
            )
            return reaped
