"""The models that this process holds: its settings' own, and beside it another while search moves between the two."""

from __future__ import annotations

import asyncio
from typing import Protocol

from shared import logs
from shared.database import Database
from shared.embedding import registry
from shared.embedding.registry import RegisteredModel
from shared.errors import ConfigurationError
from shared.settings import Settings
from workers.embedding import providers
from workers.embedding.embedder import Embedder
from workers.embedding.errors import EmbeddingUnavailable
from workers.embedding.inference import Inference


class Load(Protocol):
    def __call__(self, settings: Settings, *, name: str | None = None) -> Embedder | None: ...


class Shelf:
    """`served` is what the endpoint answers for; `models` are those whose work this process does, by their id."""

    def __init__(self, settings: Settings, *, load: Load = providers.load) -> None:
        self.served: dict[str, Inference] = {}
        self.models: dict[int, RegisteredModel] = {}
        self._settings = settings
        self._load = load
        self._own: str | None = None
        self._refreshing = asyncio.Lock()

    async def open(self) -> None:
        """Loads the settings' model, so that a bad setting is known at the start.

        A remote provider that is away is tried again by `refresh`. Raises ConfigurationError.
        """
        if self._settings.embedding_provider == "none":
            return
        try:
            embedder = await asyncio.to_thread(self._load, self._settings)
        except EmbeddingUnavailable as away:
            logs.event("embedding_provider_away", level="WARNING", reason=away.message)
            return
        if embedder is not None:
            self._own = embedder.name
            self.served[embedder.name] = Inference(embedder)

    async def refresh(self, database: Database) -> None:
        """Registers the own model, then loads and drops models as the database's rows ask for.

        Raises ConfigurationError when a row contradicts the settings.
        """
        async with self._refreshing:
            await self._refresh(database)

    def inference(self, model_id: int) -> Inference:
        return self.served[self.models[model_id].name]

    async def close(self) -> None:
        """Ends what runs within a batch."""
        await self._drop(set())

    async def _refresh(self, database: Database) -> None:
        if self._own is None:
            await self.open()
        if self._own is None:
            return
        own, floor = self.served[self._own].embedder, self._settings.embedding_floor
        async with database.connection("write") as connection:
            await registry.register(connection, name=own.name, dimension=own.dimension, floor=floor)
            wanted = _wanted(await registry.models(connection), own=own.name)
        for model in wanted:
            await self._take(model)
        self.models = {model.id: model for model in wanted if model.name in self.served}
        await self._drop({own.name, *(model.name for model in wanted)})

    async def _take(self, model: RegisteredModel) -> None:
        if model.name in self.served:
            return
        try:
            embedder = await asyncio.to_thread(self._load, self._settings, name=model.name)
        except ConfigurationError as refused:
            logs.event("embedding_model_not_loaded", level="WARNING", model=model.name, reason=refused.message)
        except EmbeddingUnavailable as away:
            logs.event("embedding_provider_away", level="WARNING", reason=away.message)
        else:
            if embedder is not None and embedder.dimension == model.dimension:
                self.served[model.name] = Inference(embedder)

    async def _drop(self, kept: set[str]) -> None:
        for name in self.served.keys() - kept:
            await self.served.pop(name).close()


def _wanted(models: list[RegisteredModel], *, own: str) -> list[RegisteredModel]:
    """The own model and, while one is being built, the other end of the move; none for a setting that differs."""
    mine = next((model for model in models if model.name == own), None)
    if mine is None or mine.state == "retired":
        return []
    other = "building" if mine.state == "current" else "current"
    return [model for model in models if model is mine or model.state == other]
