"""Why a move to another embedding model does not get on, told once for each reason."""

from __future__ import annotations

import anyio
import asyncpg

from ops import words
from ops.asking import asked, serves
from shared import outbox
from shared.embedding import registry
from shared.embedding.client import QueryEmbedder
from shared.embedding.models import Absent, Reason
from shared.embedding.registry import RegisteredModel
from shared.reembedding import Progress
from shared.settings import Settings
from shared.status import workers

PATIENCE_S = 3.0

# What steady writing leaves between one sweep and the next does not hide that all else is done.
ALMOST_MISSING_MAX = 10
ALMOST_MISSING_SHARE = 0.01


class Stalls:
    """`look` gives a line when nothing was embedded for two sweeps of the fleet, and then again for another reason.

    That the endpoint serves another model it says at once, when there is next to nothing else to wait for.
    """

    def __init__(self, settings: Settings, embedder: QueryEmbedder, name: str) -> None:
        self._settings = settings
        self._embedder = embedder
        self._name = name
        self._embedded = -1
        self._since_s = anyio.current_time()
        self._told: str | None = None
        self._endpoint_told = False

    async def look(self, connection: asyncpg.Connection, seen: Progress) -> str | None:
        if not self._endpoint_told and _almost_built(seen) and (served := await self._served_instead(connection)):
            self._endpoint_told = True
            return self._move_the_endpoint(served, seen)
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

    async def _served_instead(self, connection: asyncpg.Connection) -> str | None:
        """The current model, where a worker has loaded the new one and the endpoint answers for the current one alone.

        The row is read anew: the worker that loads the model writes its dimension.
        """
        known = await registry.models(connection)
        model = next((each for each in known if each.name == self._name), None)
        current = next((each for each in known if each.state == "current"), None)
        if model is None or model.dimension == registry.DIMENSION_UNKNOWN or current is None:
            return None
        if await asked(self._embedder, model) != Absent(Reason.OTHER_MODEL):
            return None
        return current.name if await serves(self._embedder, current) else None

    def _move_the_endpoint(self, served: str, seen: Progress) -> str:
        done = f"All but {words.memories(seen.missing)}" if seen.missing else "All memories"
        if self._settings.embedder_url is not None:
            way = f"Let MEMHUB_EMBEDDER_URL lead to an endpoint that serves {self._name}, or serve it there"
        else:
            way = (
                f"Stop the worker of the old provider, which holds the endpoint: one that serves {self._name} takes it"
                " over"
            )
        return (
            f"{done} are embedded with {self._name}, but the endpoint serves {served} and not {self._name}. {way};"
            " then this switches. (A worker whose settings can load both does so with its next sweep: let it be.)"
        )

    async def _reason(self, connection: asyncpg.Connection, seen: Progress, *, waited_s: float) -> str | None:
        processes = await workers(connection, self._settings)
        if not any(process.alive and outbox.EMBED_QUEUE in process.queues for process in processes):
            return "No worker is embedding: start memhub-worker, or memhub up. What is owed waits."
        if waited_s < PATIENCE_S + 2 * self._settings.sweep_every_s:
            return None
        model = next(model for model in await registry.models(connection) if model.name == self._name)
        answer = await asked(self._embedder, model)
        if answer is not None and answer.reason is Reason.OTHER_MODEL and not seen.embedded:
            return _unserved(model, answer)
        if seen.error:
            return f"Nothing was embedded for {waited_s:.0f} s: {seen.error}"
        if not seen.missing and answer is not None:
            return (
                "All memories are embedded, but the embedding endpoint does not answer for"
                f" {self._name}: {answer.reason}."
            )
        return f"Nothing was embedded for {waited_s:.0f} s; `memhub status` and the log of a worker say more."


def _almost_built(seen: Progress) -> bool:
    few = max(ALMOST_MISSING_MAX, ALMOST_MISSING_SHARE * seen.searchable)
    return seen.missing <= min(few, seen.embedded)


def _unserved(model: RegisteredModel, answer: Absent) -> str:
    if answer.gives is not None and model.dimension != registry.DIMENSION_UNKNOWN:
        return (
            f"{model.name} gives vectors of {answer.gives}, and by that name the database still has some of"
            f" {model.dimension}. Remove them and begin again: memhub reembed --abort, memhub gc,"
            f" memhub reembed {model.name}"
        )
    return (
        f"No worker serves {model.name}: their MEMHUB_EMBEDDING_PROVIDER is another, or cannot load it (the log of a"
        f" worker says `embedding_model_not_loaded`). Set MEMHUB_EMBEDDING_MODEL={model.name} and what its provider"
        " needs for the workers, start them again, and this goes on."
    )
