"""What retired what: each superseded memory beside the one that stands in its place."""

from __future__ import annotations

from typing import cast

from starlette.responses import Response

from ops.dashboard.pages.memories import first
from ops.dashboard.rendering import Renderer
from ops.dashboard.visits import Visit
from shared.overview.conflicts import By, settled
from shared.overview.projects import slugs
from shared.overview.views import PAGES

PAGE_ROWS = 25


async def show(renderer: Renderer, visit: Visit) -> Response:
    asked = visit.request.query_params
    by = asked.get("by") if asked.get("by") in ("client", "judge") else None
    async with visit.reading() as connection:
        held = await slugs(connection, visit.visitor.view)
        project = asked.get("project") or first(held, visit.settings.project)
        page = None
        if project:
            scope = await visit.project(connection, project)
            after = PAGES.decode(asked.get("after"))
            page = await settled(connection, scope, by=cast(By | None, by), after=after, limit=PAGE_ROWS)
    return renderer.page(
        visit.request,
        "conflicts.html",
        visitor=visit.visitor,
        projects=held,
        project=project,
        by=by,
        page=page,
    )
