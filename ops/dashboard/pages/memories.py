"""Memories: a list by what became of them, or what a search finds and why, exactly as a client would see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from starlette.datastructures import QueryParams
from starlette.responses import Response

from ops.dashboard.rendering import Renderer
from ops.dashboard.visits import CLIENT, Visit
from shared import limits
from shared.domain import Author, MemoryType, ProjectScope
from shared.embedding.models import EmbeddingModel
from shared.errors import InvalidArgument
from shared.overview.listing import Filters, Standing, listing
from shared.overview.projects import slugs
from shared.overview.views import PAGES
from shared.paging import Position
from shared.retrieval.meaning import current_model, of_query
from shared.retrieval.requests import Found, Mode, Search
from shared.retrieval.search import search

PAGE_ROWS = 50
FOUND_MAX = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the form asks, within its bounds."""

    project: str
    query: str | None
    mode: Mode
    as_of: datetime | None
    filters: Filters
    after: Position | None

    @property
    def is_listing(self) -> bool:
        return self.query is None and self.as_of is None

    def as_query(self, **changed: object) -> dict[str, Any]:
        """The address of this page again, with what is changed and from the first page on."""
        told: dict[str, Any] = {
            "project": self.project,
            "q": self.query,
            "mode": self.mode.value if self.query else None,
            "as_of": None if self.as_of is None else self.as_of.isoformat(),
            "status": None if self.filters.standing is Standing.ACTIVE else self.filters.standing.value,
            "type": [each.value for each in self.filters.types or ()],
            "tags": ", ".join(self.filters.tags),
            "conversation": self.filters.conversation,
        }
        return told | changed


async def show(renderer: Renderer, visit: Visit) -> Response:
    page, scope, model = None, None, None
    async with visit.reading() as connection:
        held = await slugs(connection, visit.visitor.view)
        asked = _asked(visit.request.query_params, held, visit.settings.project)
        if asked.project:
            scope = await visit.project(connection, asked.project)
        if scope is not None and asked.is_listing:
            page = await listing(connection, scope, asked.filters, after=asked.after, limit=PAGE_ROWS)
        elif scope is not None:
            model = await current_model(connection)
    found = None if scope is None or asked.is_listing else await _found(visit, scope, asked, model)
    return renderer.page(
        visit.request,
        "memories.html",
        visitor=visit.visitor,
        asked=asked,
        projects=held,
        page=page,
        found=found,
        found_max=FOUND_MAX,
        types=list(MemoryType),
        standings=list(Standing),
        modes=list(Mode),
    )


def first(held: Sequence[str], usual: str | None) -> str:
    """The project that is shown where none was chosen; empty where there is none."""
    return usual if usual is not None and usual in held else next(iter(held), "")


async def _found(visit: Visit, scope: ProjectScope, asked: Asked, model: EmbeddingModel | None) -> Found:
    """Asks for the query's vector while no connection is held, as the server does."""
    understood = await of_query(asked.query, model, visit.house.embedder)
    request = Search(
        query=asked.query,
        types=asked.filters.types,
        tags=asked.filters.tags,
        match_all_tags=True,
        limit=FOUND_MAX,
        mode=asked.mode,
        as_of=asked.as_of,
    )
    author = Author(CLIENT, asked.filters.conversation)
    async with visit.reading() as connection:
        return await search(connection, scope, author, request, meaning=understood)


def _asked(given: QueryParams, held: Sequence[str], usual: str | None) -> Asked:
    """Raises InvalidArgument for what no client could ask either."""
    text = {name: value.strip() for name, value in given.items()}
    tags = [tag for tag in (part.strip() for part in text.get("tags", "").split(",")) if tag]
    conversation = text.get("conversation") or None
    filters = Filters(
        standing=_choice("status", text.get("status") or Standing.ACTIVE.value, Standing),
        types=limits.types([each for each in given.getlist("type") if each]),
        tags=limits.tags(tags) or (),
        conversation=None if conversation is None else limits.conversation(conversation, "conversation"),
    )
    return Asked(
        project=text.get("project") or first(held, usual),
        query=limits.query(text.get("q")),
        mode=_choice("mode", text.get("mode") or Mode.BALANCED.value, Mode),
        as_of=limits.instant("as_of", text.get("as_of") or None),
        filters=filters,
        after=PAGES.decode(text.get("after")),
    )


def _choice(argument: str, value: str, choices: Any) -> Any:
    try:
        return choices(value)
    except ValueError:
        names = ", ".join(each.value for each in choices)
        raise InvalidArgument(argument, "is none of the choices", next=f"Choose one of {names}.") from None
