"""The counter of words, queue `counters`: keeps how many memories hold each word, for ranking and spelling."""

from __future__ import annotations

from procrastinate import App

from shared.database import Database
from shared.outbox import COUNTERS_QUEUE
from shared.retrieval import frequencies
from shared.settings import Settings
from workers.retry import Backoff
from workers.runs import recorded
from workers.schedule import defer_once, periodic

COUNT_WORDS_TASK = "count_words"


class FrequenciesActor:
    def __init__(self, database: Database, settings: Settings) -> None:
        self._database = database
        self._settings = settings

    def register(self, app: App) -> None:
        periodic(
            app,
            self.count,
            name=COUNT_WORDS_TASK,
            queue=COUNTERS_QUEUE,
            cron="* * * * * 45",
            retry=Backoff(self._settings),
        )

    async def start(self) -> None:
        await defer_once(self._database, COUNT_WORDS_TASK, queue=COUNTERS_QUEUE)

    async def count(self, timestamp: int = 0) -> None:
        """Counts the projects that changed enough since they were last counted."""
        async with (
            recorded(self._database, COUNT_WORDS_TASK) as details,
            self._database.connection("write") as connection,
        ):
            details["projects"] = await frequencies.refresh(connection)
