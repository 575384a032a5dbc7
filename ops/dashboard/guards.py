"""What protects the pages: headers that let nothing foreign in, and proof that a form was ours."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ops.dashboard.sessions import Session
from shared.errors import Forbidden, InvalidArgument

FORM_BYTES_MAX = 65_536
FIELDS_MAX = 50
CSRF_FIELD = "csrf"

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # With no-referrer a browser sends `Origin: null` with our own forms.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class GuardedApp:
    """Sets the headers of every answer; what says nothing of caching is stored nowhere."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await self._app(scope, receive, guarded)


def check_origin(request: Request) -> None:
    """Raises Forbidden for a form that another site sent; browsers name the origin of every POST."""
    origins, host = request.headers.getlist("origin"), request.headers.get("host", "")
    # Without the scheme, which a proxy that ends TLS takes away; the page of another port is another origin still.
    if len(origins) != 1 or not host or urlsplit(origins[0]).netloc.lower() != host.lower():
        raise Forbidden("This form was not sent from this dashboard.", next="Open the page here and send it again.")


def check_csrf(session: Session, fields: Mapping[str, str]) -> None:
    if not session.allows(fields.get(CSRF_FIELD, "")):
        raise Forbidden("This form is of another login.", next="Load the page again and send it again.")


async def read_form(request: Request) -> dict[str, str]:
    """The fields of a URL-encoded form, the last of each name. Raises InvalidArgument for any other body."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > FORM_BYTES_MAX:
            raise _unreadable(f"is larger than {FORM_BYTES_MAX} bytes")
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/x-www-form-urlencoded":
        raise _unreadable("is not a form")
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=FIELDS_MAX, errors="strict"))
    except ValueError:
        raise _unreadable("is not a form that can be read") from None


def _unreadable(problem: str) -> InvalidArgument:
    return InvalidArgument("body", problem, next="Send the form of the page.")
