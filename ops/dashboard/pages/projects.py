"""The projects of the tenant: what each holds, how it is found, when it was written last."""

from __future__ import annotations

from starlette.responses import Response

from ops.dashboard.rendering import Renderer
from ops.dashboard.visits import Visit
from shared.overview import projects
from shared.overview.projects import PROJECTS_MAX


async def show(renderer: Renderer, visit: Visit) -> Response:
    async with visit.reading() as connection:
        held = await projects.projects(connection, visit.visitor.view)
        tenants = await projects.tenants(connection) if visit.visitor.is_operator else [visit.visitor.tenant]
    return renderer.page(
        visit.request,
        "projects.html",
        visitor=visit.visitor,
        projects=held,
        projects_max=PROJECTS_MAX,
        tenants=tenants,
    )
