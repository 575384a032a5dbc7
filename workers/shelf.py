"""The models that this process holds: its settings' own, and those that search uses now or is moving to."""

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
        self._told: dict[str, str] = {}
        self._settled: set[int] = set()
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

    def inference(self, model_id: int) -> Inference | None:
        """None for a model that was dropped since its work was claimed."""
        model = self.models.get(model_id)
        return None if model is None else self.served.get(model.name)

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
            try:
                row = await registry.register(
                    connection, name=own.name, dimension=own.dimension, floor=floor, settled=self._settled
                )
            except ConfigurationError:
                # Nothing more is embedded with what is refused. Until then what was there stays: jobs run meanwhile.
                self.models = {}
                raise
            if row is not None:
                self._settled.add(row.id)
            wanted = [model for model in await registry.models(connection) if model.state != "retired"]
        taken = [await self._take(database, model) for model in wanted]
        self.models = {model.id: model for model in taken if model is not None}
        # What is wanted and gives another dimension stays: whoever asks the endpoint is answered which.
        await self._drop({own.name, *(model.name for model in wanted)})

    async def _take(self, database: Database, model: RegisteredModel) -> RegisteredModel | None:
        """The row of a model that is served from now on; None, and why in the log, where it cannot be."""
        if model.name not in self.served:
            embedder = await self._loaded(model.name)
            if embedder is None:
                return None
            self.served[model.name] = Inference(embedder)
        dimension = self.served[model.name].embedder.dimension
        if registry.may_learn(model, dimension, self._settled):
            async with database.connection("write") as connection:
                model = await registry.learn_dimension(connection, model, dimension)
        self._settled.add(model.id)
        if model.dimension == dimension:
            return model
        self._tell(model.name, f"it gives vectors of {dimension}, the database has it with {model.dimension}")
        return None

    async def _loaded(self, name: str) -> Embedder | None:
        try:
            embedder = await asyncio.to_thread(self._load, self._settings, name=name)
        except ConfigurationError as refused:
            self._tell(name, refused.message)
        except EmbeddingUnavailable as away:
            logs.event("embedding_provider_away", level="WARNING", reason=away.message)
        else:
            return embedder
        return None

    def _tell(self, model: str, reason: str) -> None:
        """Once for each reason: the sweep comes again twice a minute."""
        if self._told.get(model) != reason:
            self._told[model] = reason
            logs.event("embedding_model_not_loaded", level="WARNING", model=model, reason=reason)

    async def _drop(self, kept: set[str]) -> None:
        for name in self.served.keys() - kept:
            await self.served.pop(name).close()
