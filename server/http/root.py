"""What stands at `/`: nothing but the way to what is served."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import orjson
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

DASHBOARD = "/ops"


def answering(mcp: str, mounted: Sequence[str]) -> Callable[[Request], Awaitable[Response]]:
    """A browser is led to the dashboard, where one is mounted; everybody else is told the paths."""
    body = orjson.dumps({"message": "This is memhub.", "mcp": mcp, "applications": list(mounted)})

    async def answer(request: Request) -> Response:
        if DASHBOARD in mounted and "text/html" in request.headers.get("accept", ""):
            # Relative, so that it holds behind a proxy under any path.
            return RedirectResponse(f"{DASHBOARD.removeprefix('/')}/")
        return Response(body, media_type="application/json")

    return answer
