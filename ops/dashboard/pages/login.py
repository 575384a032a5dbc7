"""Logging in with a token or the API key, out again, and choosing a tenant where the credential is bound to none."""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ops.dashboard.rendering import Renderer
from ops.dashboard.sessions import COOKIE, LIFETIME_S
from ops.dashboard.visits import House, Visit
from shared import limits
from shared.errors import Forbidden, MemhubError

CREDENTIAL_CHARS_MAX = 4_096


def ask(
    renderer: Renderer, request: Request, *, wanted: str, problem: str | None = None, status: int = HTTPStatus.OK
) -> Response:
    """The form; it leads to the page that was `wanted`, also from a second attempt."""
    return renderer.page(request, "login.html", status=status, problem=problem, next=wanted)


async def log_in(renderer: Renderer, house: House, request: Request, fields: dict[str, str]) -> Response:
    address, wanted = request.client.host if request.client else "", fields.get("next", "")
    if house.failures.too_many(address):
        problem = "Too many failed logins. Wait a minute."
        return ask(renderer, request, wanted=wanted, problem=problem, status=HTTPStatus.TOO_MANY_REQUESTS)
    secret = fields.get("credential", "").strip()
    # Before it is known to have failed: of many that come at once, none would be known when the last is let in.
    attempt = house.failures.note(address)
    try:
        principal = await house.authenticate(secret) if 0 < len(secret) <= CREDENTIAL_CHARS_MAX else None
    except MemhubError:
        house.failures.forgive(address, attempt)
        raise
    if principal is None:
        problem = "That is no token or key of this server."
        return ask(renderer, request, wanted=wanted, problem=problem, status=HTTPStatus.UNAUTHORIZED)
    house.failures.forgive(address, attempt)
    house.sessions.end(request.cookies.get(COOKIE))
    answer = RedirectResponse(_inside(request, wanted), status_code=HTTPStatus.SEE_OTHER)
    answer.set_cookie(
        COOKIE,
        house.sessions.begin(secret),
        max_age=LIFETIME_S,
        path=_path(request),
        secure=_is_encrypted(request),
        httponly=True,
        samesite="strict",
    )
    return answer


async def log_out(_renderer: Renderer, visit: Visit, _fields: dict[str, str]) -> Response:
    visit.house.sessions.end(visit.request.cookies.get(COOKIE))
    base = visit.request.scope.get("root_path", "")
    answer = RedirectResponse(f"{base}/login?done=logged-out", status_code=HTTPStatus.SEE_OTHER)
    answer.delete_cookie(COOKIE, path=_path(visit.request), httponly=True, samesite="strict")
    return answer


async def choose_tenant(_renderer: Renderer, visit: Visit, fields: dict[str, str]) -> Response:
    if not visit.visitor.is_operator or visit.visitor.is_anonymous:
        raise Forbidden("This login belongs to one tenant.", next="Log in with a key that is bound to none.")
    visit.house.sessions.choose(visit.request.cookies[COOKIE], limits.tenant(fields.get("tenant", ""), "tenant"))
    return RedirectResponse(f"{visit.request.scope.get('root_path', '')}/", status_code=HTTPStatus.SEE_OTHER)


def _inside(request: Request, wanted: str) -> str:
    """The address after the login: one of our own pages, whatever a link asked for."""
    base = f"{request.scope.get('root_path', '')}/"
    safe = wanted.startswith(base) and not wanted.startswith("//") and "\\" not in wanted and wanted.isprintable()
    # A browser takes the encoded dots for dots.
    stays = ".." not in unquote(wanted.partition("?")[0]).split("/")
    return wanted if safe and stays else base


def _is_encrypted(request: Request) -> bool:
    """As a proxy before us tells it too: a false word only keeps the cookie from who said it."""
    return "https" in (request.url.scheme, request.headers.get("x-forwarded-proto", "").lower())


def _path(request: Request) -> str:
    return request.scope.get("root_path", "") or "/"
