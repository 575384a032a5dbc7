"""Why a move to another embedding model does not get on, told once for each reason."""

from __future__ import annotations

import anyio
import asyncpg

from ops.asking import asked
from shared import outbox
from shared.embedding.client import QueryEmbedder
from shared.embedding.models import Reason
from shared.embedding.registry import RegisteredModel
from shared.reembedding import Progress
from shared.settings import Settings
from shared.status import workers

PATIENCE_S = 3.0


class Stalls:
    """`look` gives a line when nothing was embedded for two sweeps of the fleet, and then again for another reason."""

    def __init__(self, settings: Settings, embedder: QueryEmbedder, model: RegisteredModel) -> None:
        self._settings = settings
        self._embedder = embedder
        self._model = model
        self._embedded = -1
        self._since_s = anyio.current_time()
        self._told: str | None = None

    async def look(self, connection: asyncpg.Connection, seen: Progress) -> str | None:
        now_s = anyio.current_time()
        if seen.embedded != self._embedded and seen.missing:
            self._embedded, self._since_s, self._told = seen.embedded, now_s, None
        if now_s - self._since_s < PATIENCE_S:
            return None
        reason = await self._reason(connection, seen, waited_s=now_s - self._since_s)
        if reason == self._told:
            return None
        self._told = reason
        return reason

    async def _reason(self, connection: asyncpg.Connection, seen: Progress, *, waited_s: float) -> str | None:
        processes = await workers(connection, self._settings)
        if not any(process.alive and outbox.EMBED_QUEUE in process.queues for process in processes):
            return "No worker is embedding: start memhub-worker, or memhub up. What is owed waits."
        if waited_s < PATIENCE_S + 2 * self._settings.sweep_every_s:
            return None
        answer = await asked(self._embedder, self._model)
        name = self._model.name
        if answer is not None and answer.reason is Reason.OTHER_MODEL:
            return (
                f"No worker serves {name}: their MEMHUB_EMBEDDING_PROVIDER is another, or cannot load it (the log of a"
                f" worker says `embedding_model_not_loaded`). Set MEMHUB_EMBEDDING_MODEL={name} and what its provider"
                " needs for the workers, start them again, and this goes on."
            )
        if seen.error:
            return f"Nothing was embedded for {waited_s:.0f} s: {seen.error}"
        if not seen.missing and answer is not None:
            return f"All memories are embedded, but the embedding endpoint does not answer for {name}: {answer.reason}."
        return f"Nothing was embedded for {waited_s:.0f} s; `memhub status` and the log of a worker say more."
