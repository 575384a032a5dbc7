"""The dashboard as an ASGI application: which page answers where, and what stands before each of them."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from http import HTTPStatus
from urllib.parse import urlencode

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from ops.dashboard.assets import Assets
from ops.dashboard.guards import GuardedApp, check_csrf, check_origin, read_form
from ops.dashboard.pages import conflicts, forgetting, login, memories, memory, projects, status, tokens
from ops.dashboard.rendering import FRAGMENT_HEADER, Renderer
from ops.dashboard.sessions import COOKIE, Failures, Sessions
from ops.dashboard.visits import House, Visit, Visitor, visitor_of
from shared import logs
from shared.embedding.address import embedder_address
from shared.embedding.client import QueryEmbedder
from shared.errors import (
    Forbidden,
    InvalidArgument,
    MemhubError,
    MemoryNotFound,
    ProjectNotFound,
    RateLimited,
    SensitiveContent,
)
from shared.mounts import AsgiApp, Authenticate, Connections
from shared.settings import Settings

Page = Callable[[Renderer, Visit], Awaitable[Response]]
Action = Callable[[Renderer, Visit, dict[str, str]], Awaitable[Response]]
Endpoint = Callable[[Request], Awaitable[Response]]

_STATUSES: dict[type[MemhubError], int] = {
    InvalidArgument: HTTPStatus.BAD_REQUEST,
    Forbidden: HTTPStatus.FORBIDDEN,
    MemoryNotFound: HTTPStatus.NOT_FOUND,
    ProjectNotFound: HTTPStatus.NOT_FOUND,
    RateLimited: HTTPStatus.TOO_MANY_REQUESTS,
    SensitiveContent: HTTPStatus.BAD_REQUEST,
}


_TOOL = re.compile(r"\b(?:project_use|memory_[a-z]+)\b")


def build(database: Connections, settings: Settings, authenticate: Authenticate) -> AsgiApp:
    """Touches no database; the first page does."""
    assets = Assets()
    house = House(database, settings, authenticate, Sessions(), Failures(), _embedder(settings))
    desk = _Desk(house, Renderer(assets))
    routes = [
        Route("/", desk.page(status.show), name="status"),
        Route("/memories", desk.page(memories.show)),
        Route("/memories/{memory_id:uuid}", desk.page(memory.show)),
        Route("/memories/{memory_id:uuid}/forget", desk.action(forgetting.take_out), methods=["POST"]),
        Route("/memories/{memory_id:uuid}/restore", desk.action(forgetting.bring_back), methods=["POST"]),
        Route("/projects", desk.page(projects.show)),
        Route("/conflicts", desk.page(conflicts.show)),
        Route("/tokens", desk.page(tokens.show)),
        Route("/tokens", desk.action(tokens.create), methods=["POST"]),
        Route("/tokens/{token_id:uuid}/revoke", desk.action(tokens.revoke), methods=["POST"]),
        Route("/jobs/{job_id:int}/retry", desk.action(status.retry_job), methods=["POST"]),
        Route("/embeddings/retry", desk.action(status.retry_embeddings), methods=["POST"]),
        Route("/tenant", desk.action(login.choose_tenant), methods=["POST"]),
        Route("/logout", desk.action(login.log_out), methods=["POST"]),
        Route("/login", desk.login, methods=["GET", "POST"]),
        Route("/static/{name}", assets.answer),
    ]
    handlers = {HTTPStatus.NOT_FOUND: desk.not_found}
    return GuardedApp(Starlette(routes=routes, exception_handlers=handlers))


def _embedder(settings: Settings) -> QueryEmbedder:
    key = settings.embedding_api_key
    return QueryEmbedder(
        embedder_address(settings),
        timeout_s=settings.query_embedding_timeout_s,
        api_key=None if key is None else key.get_secret_value(),
    )


class PageNotFound(MemhubError):
    code = "PAGE_NOT_FOUND"


class _Desk:
    """Lets visitors in, turns the others to the login, and tells what stands in the way as a page."""

    def __init__(self, house: House, renderer: Renderer) -> None:
        self._house = house
        self._renderer = renderer

    def page(self, page: Page) -> Endpoint:
        async def shown(request: Request, visitor: Visitor) -> Response:
            return await page(self._renderer, Visit(self._house, request, visitor))

        return self._visited(shown)

    def action(self, action: Action) -> Endpoint:
        async def done(request: Request, visitor: Visitor) -> Response:
            check_origin(request)
            fields = await read_form(request)
            check_csrf(visitor.session, fields)
            return await action(self._renderer, Visit(self._house, request, visitor), fields)

        return self._visited(done)

    async def login(self, request: Request) -> Response:
        try:
            if request.method != "POST":
                return login.ask(self._renderer, request, wanted=request.query_params.get("next", ""))
            check_origin(request)
            return await login.log_in(self._renderer, self._house, request, await read_form(request))
        except MemhubError as refused:
            return self._refused(request, refused, None)

    async def not_found(self, request: Request, _error: Exception) -> Response:
        visitor = None
        # Whoever may not come in is told no more than that; an absent database does not hide the answer.
        with suppress(MemhubError):
            visitor = await visitor_of(self._house, request)
        next = "Check the address, or begin at the start page." if visitor is None else "Go on from the links above."
        missing = PageNotFound("There is no such page.", next=next)
        return self._renderer.refusal(request, missing, status=HTTPStatus.NOT_FOUND, visitor=visitor)

    def _visited(self, shown: Callable[[Request, Visitor], Awaitable[Response]]) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            visitor = None
            try:
                visitor = await visitor_of(self._house, request)
                return _to_login(request) if visitor is None else await shown(request, visitor)
            except MemhubError as refused:
                return self._refused(request, refused, visitor)

        return endpoint

    def _refused(self, request: Request, refused: MemhubError, visitor: Visitor | None) -> Response:
        status = _STATUSES.get(type(refused), HTTPStatus.SERVICE_UNAVAILABLE)
        level = "WARNING" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "INFO"
        logs.event("dashboard_refused", level=level, status=status, code=refused.code)
        told = _for_people(refused)
        answer = self._renderer.refusal(request, told, status=status, visitor=visitor)
        if isinstance(refused, RateLimited):
            answer.headers["Retry-After"] = str(refused.retry_after_s)
        return answer


def _for_people(refused: MemhubError) -> MemhubError:
    """What the services advise a model, they advise by the names of its tools."""
    if _TOOL.search(refused.next) is None:
        return refused
    match refused:
        case ProjectNotFound():
            return ProjectNotFound(
                refused.message.removeprefix("project: ").capitalize(), next="The page Projects lists what there is."
            )
        case MemoryNotFound():
            return MemoryNotFound(
                refused.message.removeprefix("memory_id: ").capitalize(), next="Look in the list of memories."
            )
        case _:
            return refused


def _to_login(request: Request) -> Response:
    if FRAGMENT_HEADER in request.headers:
        return Response(status_code=HTTPStatus.UNAUTHORIZED)
    query = {"next": request.url.path + (f"?{request.url.query}" if request.url.query else "")}
    if COOKIE in request.cookies:
        query["done"] = "ended"
    address = f"{request.scope.get('root_path', '')}/login?{urlencode(query)}"
    return RedirectResponse(address, status_code=HTTPStatus.SEE_OTHER)
