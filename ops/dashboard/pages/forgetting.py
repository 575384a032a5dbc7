"""Forgetting a memory from its page, and bringing it back: what the tool memory_forget does, by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Protocol
from urllib.parse import urlencode
from uuid import UUID

import anyio.to_thread
import asyncpg
from starlette.responses import RedirectResponse, Response

from ops.dashboard.rendering import Renderer
from ops.dashboard.visits import Visit
from shared import limits, screening
from shared.domain import Author, ProjectScope
from shared.memories.forget import Forgotten, forget, restore
from shared.overview.lives import locate


class Act(Protocol):
    async def __call__(
        self,
        connection: asyncpg.Connection,
        scope: ProjectScope,
        author: Author,
        memory_id: UUID,
        *,
        reason: str | None = None,
    ) -> Forgotten: ...


async def take_out(_renderer: Renderer, visit: Visit, fields: Mapping[str, str]) -> Response:
    return await _done(visit, fields, forget)


async def bring_back(_renderer: Renderer, visit: Visit, fields: Mapping[str, str]) -> Response:
    return await _done(visit, fields, restore)


async def _done(visit: Visit, fields: Mapping[str, str], act: Act) -> Response:
    """Leads back to the memory's page, which tells what became of it."""
    visit.ask_to_write()
    reason, author = await _reason(fields), _author(visit, fields)
    memory_id = visit.request.path_params["memory_id"]
    async with visit.writing() as connection:
        state = await locate(connection, visit.visitor.view, memory_id, conversation=author.conversation)
        outcome = (await act(connection, state.scope, author, memory_id, reason=reason)).outcome
    base = visit.request.scope.get("root_path", "")
    asked = {"conversation": author.conversation} if author.conversation else {}
    query = urlencode({**asked, "done": outcome.replace("_", "-")})
    return RedirectResponse(f"{base}/memories/{memory_id}?{query}", status_code=HTTPStatus.SEE_OTHER)


async def _reason(fields: Mapping[str, str]) -> str | None:
    reason = limits.reason(fields.get("reason"))
    finding = await anyio.to_thread.run_sync(screening.screen, reason) if reason else None
    if finding is not None:
        raise screening.refusal("reason", finding, otherwise="If it is none, say it in other words.")
    return reason


def _author(visit: Visit, fields: Mapping[str, str]) -> Author:
    named = fields.get("conversation") or None
    conversation = None if named is None else limits.conversation(named, "conversation")
    return replace(visit.author, conversation=conversation)
