"""A question to the project's memory: its vector is asked for first, while no connection is held, then the database."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID

from server.call import Call
from server.record import Leg
from shared.domain import Author, ProjectScope
from shared.retrieval.requests import ContextRequest, Search

if TYPE_CHECKING:
    from asyncpg import Connection

    from shared.retrieval.meaning import Meaning

Request = TypeVar("Request", Search, ContextRequest)
Answer = TypeVar("Answer")


async def answered(
    call: Call,
    project: UUID | str | None,
    request: Request,
    ask: Callable[[Connection, ProjectScope, Author, Request, Meaning], Awaitable[Answer]],
) -> Answer:
    """What `ask` tells of the project; both legs are timed where something is asked."""
    memories = call.backend.memories
    async with call.reading() as connection:
        scope = await call.scope(connection, project)
        model = await memories.current_model(connection) if request.query else None
    with call.timed("embedding", asked=model is not None):
        understood = await memories.meaning(request.query, model)
    leg: Leg = "lexical" if understood.vector is None else "hybrid"
    async with call.reading() as connection:
        with call.timed(leg, asked=request.query is not None):
            return await ask(connection, scope, call.caller.author, request, understood)
