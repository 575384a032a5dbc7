"""A search asks for its vector and looks up its words at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from server.call import Call, Caller
from server.record import Unmetered
from server.tools.asking import answered
from shared.database import Work
from shared.domain import Author, ProjectScope
from shared.embedding.models import EmbeddingModel
from shared.errors import DeadlineExceeded
from shared.retrieval.meaning import UNKNOWN, Meaning
from shared.retrieval.requests import Search
from shared.retrieval.terms import Asked
from tests.server.memory import InMemory, project_id

SOON_S = 60


@dataclass
class Busy(InMemory):
    """An embedder that answers once the words were looked up and no connection is held any more."""

    looked_up: asyncio.Event = field(default_factory=asyncio.Event)
    let_go: asyncio.Event = field(default_factory=asyncio.Event)
    gave_up: asyncio.Event = field(default_factory=asyncio.Event)
    refused: bool = False

    @asynccontextmanager
    async def connection(self, work: Work) -> AsyncIterator[Any]:
        self.let_go.clear()
        yield self
        self.let_go.set()

    async def current_model(self, connection: Any) -> EmbeddingModel:  # type: ignore[override]
        return EmbeddingModel(name="small", dimension=3)

    async def meaning(self, query: str | None, model: EmbeddingModel | None) -> Meaning:
        try:
            await self.looked_up.wait()
            await self.let_go.wait()
        except asyncio.CancelledError:
            self.gave_up.set()
            raise
        return UNKNOWN

    async def words(
        self, connection: Any, scope: ProjectScope, author: Author, query: str, model: EmbeddingModel | None
    ) -> Asked:
        await asyncio.sleep(0)
        if self.refused:
            raise DeadlineExceeded("Cancelled.", next="Ask again.")
        self.looked_up.set()
        return await super().words(connection, scope, author, query, model)


def call_of(backend: Busy) -> Call:
    backend.slugs["memhub"] = ProjectScope(
        tenant="local", project_id=project_id("memhub"), slug="memhub", display_name=None
    )
    caller = Caller(tenant="local", author=Author("test"), project="memhub", aliases={})
    return Call(backend=backend, caller=caller, meter=Unmetered())


async def test_words_are_looked_up_while_the_vector_is_made_and_no_connection_waits_for_it() -> None:
    # Fails where asking.py awaits the vector before the words, or within the connection.
    backend = Busy()
    async with asyncio.timeout(SOON_S):
        found = await answered(call_of(backend), None, Search(query="cookies"), backend.search)

    assert found.confidence == "low"


async def test_a_vector_is_given_up_where_its_words_fail() -> None:
    # Fails without `embedding.cancel()` in asking.py.
    backend = Busy(refused=True)
    with pytest.raises(DeadlineExceeded):
        await answered(call_of(backend), None, Search(query="cookies"), backend.search)
    async with asyncio.timeout(SOON_S):
        await backend.gave_up.wait()
