"""The embedder, queue `embed`: gives every revision its vectors, by leases and with no transaction open.

written ──claim──▶ leased ──model──▶ vectors written, row deleted
   ▲                 │ worker stops: given back, not counted
   │                 │ provider away: put off, not counted
   └──lease is past──┤ refused: put off, counted, up to the bound of attempts
                     └ worker dies: the lease runs out, counted
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from itertools import groupby
from uuid import UUID

import asyncpg
from procrastinate import App

from shared import outbox
from shared.database import Database
from shared.embedding.owing import owe, owe_past
from shared.errors import MemhubError
from shared.outbox import SWEEP_TASK
from shared.runs import reason
from shared.settings import Settings
from workers.embedding.embedder import Vectors
from workers.embedding.errors import EmbeddingRefused, EmbeddingStopped, EmbeddingUnavailable
from workers.leases import Leases, Work
from workers.retry import Backoff, backoff_s
from workers.runs import recorded
from workers.schedule import BACKSTOP_PRIORITY, defer_once, periodic
from workers.shelf import Shelf

BACKFILL_TASK = "backfill_embeddings"
BACKFILL_CRON = "*/10 * * * *"

# What runs in one go: two of the longest memories, 13 s of the packaged model on one thread.
BATCH_BYTES_MAX = 64_000
SWEEP_BATCHES_MAX = 16
AWAY_PAUSE_S = 15.0
# Every third of a lease, for an hour by default: a claim of the largest memories takes some four minutes.
RENEWALS_MAX = 360


# What the vectors of a model and its row agree by.
_DIMENSIONS = ("live_vectors_model_id_dimension_fkey", "retired_vectors_model_id_dimension_fkey")


class EmbedderActor:
    def __init__(self, database: Database, settings: Settings, shelf: Shelf) -> None:
        self._database = database
        self._settings = settings
        self._shelf = shelf
        self._leases = Leases(database, settings)

    def register(self, app: App) -> None:
        retry = Backoff(self._settings)
        queue = outbox.EMBED_QUEUE
        app.task(name=outbox.EMBED_TASK, queue=queue, retry=retry)(self.embed_revision)
        every = f"* * * * * */{self._settings.sweep_every_s}"
        periodic(app, self.sweep, name=SWEEP_TASK, queue=queue, cron=every, retry=retry, priority=BACKSTOP_PRIORITY)
        periodic(app, self.backfill, name=BACKFILL_TASK, queue=queue, cron=BACKFILL_CRON, retry=retry)

    async def start(self) -> None:
        """Takes the models up, then owes and sweeps what was left behind. Raises ConfigurationError."""
        await self._shelf.refresh(self._database)
        await self._leases.forgive(models=list(self._shelf.models))
        await defer_once(self._database, BACKFILL_TASK, queue=outbox.EMBED_QUEUE)
        await self._defer_sweep()

    async def embed_revision(
        self, *, project_id: str, memory_id: str, revision_no: int, traceparent: str | None = None
    ) -> None:
        """The revision that the job names and a batch of others beside it; nothing when its row is done.

        `traceparent` is for the span that the job already runs in.
        """
        rows = await self._leases.claim_own(
            UUID(project_id), UUID(memory_id), revision_no, models=list(self._shelf.models)
        )
        await self._finish(rows)

    async def sweep(self, timestamp: int = 0) -> None:
        """The backstop: rows that no job drains and leases that ran out; goes on in another job while much is due."""
        async with recorded(self._database, SWEEP_TASK) as details:
            await self._shelf.refresh(self._database)
            details["rows"] = 0
            for _ in range(SWEEP_BATCHES_MAX):
                rows = await self._leases.claim_due(models=list(self._shelf.models))
                if not rows or not await self._finish(rows):
                    return
                details["rows"] += len(rows)
        await self._defer_sweep()

    async def backfill(self, timestamp: int = 0) -> None:
        """Work for live memories that lack vectors, and for the past once these have them."""
        connect = partial(self._database.connection, "write")
        async with recorded(self._database, BACKFILL_TASK) as details:
            attempts_max = self._settings.embedding_attempts_max
            details["owed"] = await owe(connect) or await owe_past(connect, attempts_max=attempts_max)
        if details["owed"]:
            await self._defer_sweep()

    async def _defer_sweep(self) -> None:
        await defer_once(self._database, SWEEP_TASK, queue=outbox.EMBED_QUEUE, priority=BACKSTOP_PRIORITY)

    async def _finish(self, rows: list[Work]) -> bool:
        """Embeds and writes claimed rows, keeping their leases meanwhile; false when the provider is away.

        What a stop leaves undone is given back.
        """
        hand = _Hand(rows)
        renewing = asyncio.create_task(self._renew(hand), name="renew leases")
        try:
            for batch in _batches(rows):
                await self._embed(batch, hand)
        except EmbeddingUnavailable as away:
            await self._leases.put_off(hand.rows, pause_s=AWAY_PAUSE_S, error=reason(away), counts=False)
            return False
        except (asyncio.CancelledError, EmbeddingStopped):
            # The database may be gone too; then the leases run out by themselves.
            with suppress(MemhubError, asyncpg.PostgresError):
                await asyncio.shield(self._leases.put_off(hand.rows, pause_s=0, error=None, counts=False))
            raise
        except Exception as failed:
            with suppress(MemhubError, asyncpg.PostgresError):
                await self._leases.put_off(
                    hand.rows, pause_s=self._pause_s(hand.rows), error=reason(failed), counts=True
                )
            raise
        finally:
            renewing.cancel()
        return True

    async def _embed(self, batch: list[Work], hand: _Hand) -> None:
        purged = [row for row in batch if row.text is None]
        if purged:
            async with hand.settling(purged):
                await self._leases.drop(purged)
        written = [row for row in batch if row.text is not None]
        if not written:
            return
        inference = self._shelf.inference(batch[0].model_id)
        if inference is None:
            async with hand.settling(written):
                await self._leases.put_off(written, pause_s=AWAY_PAUSE_S, error=None, counts=False)
            return
        try:
            vectors = await inference.embed_revisions([row.text for row in written if row.text is not None])
        except EmbeddingRefused as refused:
            await self._refuse(written, refused, hand)
            return
        async with hand.settling(written):
            await self._write(written, vectors)

    async def _write(self, rows: list[Work], vectors: Sequence[Vectors]) -> None:
        try:
            await self._leases.done(rows, vectors)
        except asyncpg.ForeignKeyViolationError as refused:
            if refused.constraint_name not in _DIMENSIONS:
                raise
            raise EmbeddingUnavailable(
                "A worker with other settings gave the model another dimension, before its first vector.",
                next="Give all workers the same MEMHUB_EMBEDDING_DIM.",
            ) from None

    async def _refuse(self, batch: list[Work], refused: EmbeddingRefused, hand: _Hand) -> None:
        """One text may spoil a batch: each is tried alone before any of them bears the reason."""
        if len(batch) > 1:
            for row in batch:
                await self._embed([row], hand)
            return
        async with hand.settling(batch):
            await self._leases.put_off(batch, pause_s=self._pause_s(batch), error=reason(refused), counts=True)

    def _pause_s(self, rows: list[Work]) -> float:
        attempts = max((row.attempts for row in rows), default=0)
        return backoff_s(attempts, base_s=self._settings.job_backoff_s, max_s=self._settings.job_backoff_s_max)

    async def _renew(self, hand: _Hand) -> None:
        """Until cancelled, but not for a model that hangs; a renewal that fails is only a lease that runs out."""
        for _ in range(RENEWALS_MAX):
            await asyncio.sleep(self._settings.embedding_lease_s / 3)
            with suppress(MemhubError, asyncpg.PostgresError):
                async with hand.held:
                    await self._leases.renew(hand.rows)


class _Hand:
    """The rows of a claim that are not settled yet; while they are `held`, none of them is settled or renewed."""

    def __init__(self, rows: list[Work]) -> None:
        self.rows = list(rows)
        self.held = asyncio.Lock()

    @asynccontextmanager
    async def settling(self, rows: list[Work]) -> AsyncIterator[None]:
        """These leave the hand with the statement inside, and stay in it where that fails."""
        async with self.held:
            yield
            self.rows = [row for row in self.rows if row not in rows]


def _batches(rows: list[Work]) -> Iterator[list[Work]]:
    """Rows of one model each, at most BATCH_BYTES_MAX of content but at least one row."""
    for _, of_model in groupby(sorted(rows, key=lambda row: row.model_id), key=lambda row: row.model_id):
        batch: list[Work] = []
        for row in of_model:
            if batch and sum(each.size_bytes for each in batch) + row.size_bytes > BATCH_BYTES_MAX:
                yield batch
                batch = []
            batch.append(row)
        yield batch
