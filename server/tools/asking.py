"""A question to the project's memory: its vector is made while its words are looked up, then both are answered."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID

from server.call import Call
from server.record import Leg
from shared.domain import Author, ProjectScope
from shared.embedding.models import EmbeddingModel
from shared.retrieval.requests import ContextRequest, Search, Understood

if TYPE_CHECKING:
    from asyncpg import Connection

    from shared.retrieval.meaning import Meaning

Request = TypeVar("Request", Search, ContextRequest)
Answer = TypeVar("Answer")


async def answered(
    call: Call,
    project: UUID | str | None,
    request: Request,
    ask: Callable[[Connection, ProjectScope, Author, Request, Understood], Awaitable[Answer]],
) -> Answer:
    """What `ask` tells of the project; no connection is held where only the vector is waited for.

    Both legs are timed where something is asked, the one in the database without that wait.
    """
    memories, author = call.backend.memories, call.caller.author
    async with call.reading() as connection:
        scope = await call.scope(connection, project)
        model = await memories.current_model(connection) if request.query else None
        embedding = asyncio.create_task(_embedded(call, request.query, model), name="embedding")
        began_s = time.perf_counter()
        try:
            asked = await memories.words(connection, scope, author, request.query, model) if request.query else None
        except BaseException:
            embedding.cancel()
            raise
        words_s = time.perf_counter() - began_s
    meaning = await embedding
    leg: Leg = "lexical" if meaning.vector is None else "hybrid"
    async with call.reading() as connection:
        with call.timed(leg, asked=request.query is not None, before_s=words_s):
            return await ask(connection, scope, author, request, Understood(meaning, asked))


async def _embedded(call: Call, query: str | None, model: EmbeddingModel | None) -> Meaning:
    with call.timed("embedding", asked=model is not None):
        return await call.backend.memories.meaning(query, model)
