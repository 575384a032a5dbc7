"""Tokens of the tenant: which there are, a new one shown this once, and the end of one."""

from __future__ import annotations

from datetime import timedelta
from http import HTTPStatus

from starlette.responses import RedirectResponse, Response

from ops.dashboard.rendering import Renderer
from ops.dashboard.visits import Visit
from shared import api_tokens, limits
from shared.api_tokens import LISTED_MAX, Issued
from shared.errors import Forbidden, InvalidArgument
from shared.overview.projects import slugs

NAME_BYTES_MAX = 128

# What can be chosen, by the word in the form.
LIFETIMES: dict[str, timedelta | None] = {
    "30 days": timedelta(days=30),
    "90 days": timedelta(days=90),
    "1 year": timedelta(days=365),
    "no end": None,
}


async def show(renderer: Renderer, visit: Visit) -> Response:
    return await _shown(renderer, visit, issued=None)


async def create(renderer: Renderer, visit: Visit, fields: dict[str, str]) -> Response:
    """Answers with the page itself and not with a redirect: the secret stands in this one answer."""
    _ask_to_manage(visit)
    name = limits.texts.line("name", fields.get("name", ""), NAME_BYTES_MAX)
    lifetime = fields.get("lifetime", "")
    if not name or lifetime not in LIFETIMES:
        raise InvalidArgument("name and lifetime", "are needed", next="Name the token and choose how long it lasts.")
    async with visit.operating() as connection:
        issued = await api_tokens.create(
            connection,
            visit.visitor.tenant,
            name=name,
            project=limits.project(fields.get("project") or None),
            read_only=fields.get("read_only") == "yes",
            ttl=LIFETIMES[lifetime],
        )
    return await _shown(renderer, visit, issued=issued)


async def revoke(_renderer: Renderer, visit: Visit, _fields: dict[str, str]) -> Response:
    _ask_to_manage(visit)
    token_id = visit.request.path_params["token_id"]
    try:
        async with visit.operating() as connection:
            revoked = await api_tokens.revoke(connection, token_id, tenant=visit.visitor.tenant)
    except InvalidArgument:
        revoked = None
    base = visit.request.scope.get("root_path", "")
    done = "token-revoked" if revoked is not None and revoked.is_now else "token-gone"
    return RedirectResponse(f"{base}/tokens?done={done}", status_code=HTTPStatus.SEE_OTHER)


async def _shown(renderer: Renderer, visit: Visit, *, issued: Issued | None) -> Response:
    async with visit.reading() as connection:
        held = await api_tokens.listed(connection, visit.visitor.tenant, project_id=visit.visitor.principal.project_id)
        projects = await slugs(connection, visit.visitor.view)
    return renderer.page(
        visit.request,
        "tokens.html",
        visitor=visit.visitor,
        tokens=held,
        tokens_max=LISTED_MAX,
        projects=projects,
        lifetimes=list(LIFETIMES),
        issued=issued,
        name_max=NAME_BYTES_MAX,
    )


def _ask_to_manage(visit: Visit) -> None:
    """A token cannot create or revoke tokens: one that leaked could otherwise outlive its own end."""
    visit.ask_to_write()
    if not visit.visitor.is_operator:
        raise Forbidden(
            "A token cannot create or revoke tokens.", next="Log in with MEMHUB_API_KEY, or use `memhub token`."
        )
