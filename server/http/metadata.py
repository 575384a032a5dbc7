"""What this protected resource says of itself (RFC 9728), so that clients find the issuer by themselves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import unquote, urlsplit

import orjson
from starlette.requests import Request
from starlette.responses import Response

from shared.settings import Settings

PATH = "/.well-known/oauth-protected-resource"


def url(settings: Settings) -> str | None:
    """The address of the metadata of the resource that the audience names; None where the audience is no URL."""
    resource = urlsplit(settings.oauth_audience or "")
    if settings.oauth_issuer is None or resource.scheme not in ("http", "https"):
        return None
    return f"{resource.scheme}://{resource.netloc}{PATH}{resource.path.rstrip('/')}"


def paths(settings: Settings, *, served: str) -> frozenset[str]:
    """Where clients look for it: with no path, with the one that is `served`, and with that of the audience."""
    named = url(settings)
    return frozenset({PATH, PATH + served} | ({unquote(urlsplit(named).path)} if named else set()))


def endpoint(settings: Settings) -> Callable[[Request], Awaitable[Response]]:
    scopes = [scope for scope in (settings.oauth_scope, settings.oauth_write_scope) if scope]
    body = orjson.dumps(
        {
            "resource": settings.oauth_audience,
            "authorization_servers": [settings.oauth_issuer],
            "bearer_methods_supported": ["header"],
            **({"scopes_supported": scopes} if scopes else {}),
        }
    )

    async def describe(_request: Request) -> Response:
        return Response(body, media_type="application/json", headers={"Access-Control-Allow-Origin": "*"})

    return describe
