"""`memhub dashboard`: the pages alone, on this machine only, until Ctrl-C."""

from __future__ import annotations

import asyncio
import signal
import socket
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from rich.text import Text
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route

from ops import ports
from ops.dashboard import PATH
from ops.dashboard.application import build
from ops.terminal import Terminal
from shared import api_tokens
from shared.credentials import Credentials
from shared.database import Database
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
            async with database.connection("read") as connection:
                access = _access(settings, locked=await api_tokens.any_exist(connection))
            server = _Server(config, f"http://{HOST}:{listener.getsockname()[1]}{PATH}/", access, browse=browse)
            await server.serve([listener])
    finally:
        listener.close()
    return 0


def alone(database: Database, settings: Settings) -> AsgiApp:
    """The dashboard under its path. Only loopback's names are answered: a page elsewhere could rebind its own to us."""
    pages = build(database, settings, Credentials(settings, database).authenticate)
    routes = [Route("/", _home), Mount(PATH, pages)]
    hosts = Middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"], www_redirect=False)
    return Starlette(routes=routes, middleware=[hosts])


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, address: str, access: str, *, browse: bool) -> None:
        super().__init__(config)
        self._address = address
        self._browse = browse
        self._access = access

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        # Before it begins: an answer that finds no room would leave it half started.
        console = Terminal()
        console.print(
            Text.assemble("The dashboard is at ", (self._address, "bold"), ", Ctrl-C ends it."), soft_wrap=True
        )
        console.print(self._access, soft_wrap=True)
        await super().startup(sockets)
        if self._browse:
            await asyncio.to_thread(webbrowser.open, self._address)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Uvicorn's own raises them again at the end: a Ctrl-C is how this ends, and is no interruption."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self.handle_exit)
        try:
            yield
        finally:
            # What follows is the clean-up.
            signal.signal(signal.SIGINT, signal.SIG_IGN)


def _access(settings: Settings, *, locked: bool) -> str:
    if settings.api_key is not None:
        return "It asks for MEMHUB_API_KEY or a token (memhub token create)."
    if settings.oauth_issuer is not None:
        return "It asks for a token (memhub token create): MEMHUB_OAUTH_ISSUER is set."
    if locked:
        return "It asks for a token (memhub token create), because one has been made, even if it was revoked since."
    return "No key is set: everybody on this machine may look, until a token is made (memhub token create)."


async def _home(_request: Request) -> Response:
    return RedirectResponse(f"{PATH}/")


def _bind(port: int) -> socket.socket:
    try:
        return socket.create_server((HOST, port))
    except OSError as failure:
        raise ports.refused(HOST, port, failure) from None
