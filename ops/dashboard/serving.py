"""`memhub dashboard`: the pages alone, on this machine only, until Ctrl-C."""

from __future__ import annotations

import asyncio
import socket
import webbrowser

import uvicorn
from rich.text import Text
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route

from ops.dashboard import PATH
from ops.dashboard.application import build
from ops.dashboard.credentials import Credentials
from ops.terminal import Terminal
from shared.database import Database
from shared.errors import ConfigurationError
from shared.mounts import AsgiApp
from shared.opening import opened
from shared.settings import Settings

HOST = "127.0.0.1"
STOP_S = 3


async def serve(settings: Settings, *, port: int, browse: bool) -> int:
    """Returns when it is stopped. Raises what opening the database raises, and ConfigurationError for a busy port."""
    listener = _bind(port)
    try:
        async with opened(settings, application="memhub-dashboard") as database:
            config = uvicorn.Config(
                alone(database, settings),
                http="h11",
                ws="none",
                lifespan="on",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=STOP_S,
            )
            server = _Server(config, f"http://{HOST}:{listener.getsockname()[1]}{PATH}/", settings, browse=browse)
            await server.serve([listener])
    finally:
        listener.close()
    return 0


def alone(database: Database, settings: Settings) -> AsgiApp:
    """The dashboard under its path. Only loopback's names are answered: a page elsewhere could rebind its own to us."""
    pages = build(database, settings, Credentials(database, settings).authenticate)
    routes = [Route("/", _home), Mount(PATH, pages)]
    hosts = Middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"], www_redirect=False)
    return Starlette(routes=routes, middleware=[hosts])


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, address: str, settings: Settings, *, browse: bool) -> None:
        super().__init__(config)
        self._address = address
        self._browse = browse
        self._is_open = settings.api_key is None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        # Before it begins: an answer that finds no room would leave it half started.
        console = Terminal()
        console.print(
            Text.assemble("The dashboard is at ", (self._address, "bold"), ", Ctrl-C ends it."), soft_wrap=True
        )
        if self._is_open:
            console.print("No key is set: everybody on this machine may look. Set MEMHUB_API_KEY to ask for one.")
        await super().startup(sockets)
        if self._browse:
            await asyncio.to_thread(webbrowser.open, self._address)


async def _home(_request: Request) -> Response:
    return RedirectResponse(f"{PATH}/")


def _bind(port: int) -> socket.socket:
    try:
        return socket.create_server((HOST, port))
    except OSError as failure:
        raise ConfigurationError(
            f"Port {port} of {HOST} cannot be bound: {failure.strerror or failure}.",
            next="Choose another with --port, or end the process that has it.",
        ) from None
