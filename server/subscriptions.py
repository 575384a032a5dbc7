"""Resource subscriptions in both eras: resources/subscribe for a session, subscriptions/listen for one stream."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from functools import partial
from typing import Any

import mcp_types
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import ListenHandler, ResourceUpdated, ServerEvent

from server import background, resources
from server.call import Caller
from server.changes import Audience, Hub, Watch
from shared.errors import BackendBusy, InvalidArgument

URIS_MAX = 256
STREAMS_MAX = 10_000
_STATE = "memhub.subscribed"

Context = ServerRequestContext[Any, Any]


class Subscriptions:
    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self._streams: set[ListenHandler] = set()

    async def subscribe(self, context: Context, caller: Caller, uri: str) -> None:
        """Watches `uri` for the session, with the eyes of this call.

        Raises InvalidArgument for what is no resource, BackendBusy, and what the database raises.
        """
        await _of_session(context.session, self.hub).watch(_audience(caller), uri)

    async def unsubscribe(self, context: Context, uri: str) -> None:
        _of_session(context.session, self.hub).forget(resources.canonical(uri))

    async def listen(
        self, context: Context, identify: Callable[[], Caller], params: mcp_types.SubscriptionsListenRequestParams
    ) -> mcp_types.SubscriptionsListenResult:
        """Serves one stream until its client leaves or `close_streams`; only who asks for resources needs a tenant."""
        if len(self._streams) >= STREAMS_MAX:
            raise BackendBusy("This server has as many open streams as it can.", next="Listen again later.")
        uris = params.notifications.resource_subscriptions or []
        if len(uris) > URIS_MAX:
            raise InvalidArgument("resourceSubscriptions", f"must be at most {URIS_MAX}", next="Listen for fewer.")
        bus = _Bus()
        watches = [] if not uris else _watches(_audience(identify()), uris, bus)
        stream = ListenHandler(bus)
        self._streams.add(stream)
        try:
            if watches:
                await self.hub.add(watches)
            return await stream(context, params)
        finally:
            self._streams.discard(stream)
            self.hub.remove(watches)

    def close_streams(self) -> None:
        """Ends every listen stream with its result, from its own task."""
        for stream in list(self._streams):
            stream.close()


class _Bus:
    """The bus of one stream: the SDK's own is shared, and knows of no tenants."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[ServerEvent], None]] = []

    async def publish(self, event: ServerEvent) -> None:
        self.tell(event)

    def tell(self, event: ServerEvent) -> None:
        for listener in self._listeners:
            listener(event)

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return self._listeners.clear


class _Session:
    """What one session of the older era watches.

    It tells from a task of its own: a client that reads nothing holds up nobody else, and then misses no resource.
    """

    def __init__(self, connection: Connection, hub: Hub) -> None:
        self._connection = connection
        self.hub = hub
        self._watches: dict[str, Watch] = {}
        self._changed: dict[str, None] = {}
        self._wake = asyncio.Event()
        self._telling = asyncio.create_task(self._tell())

    async def watch(self, audience: Audience, uri: str) -> None:
        canonical = resources.canonical(uri)
        if canonical not in self._watches and len(self._watches) >= URIS_MAX:
            raise InvalidArgument("uri", f"a session watches at most {URIS_MAX}", next="Unsubscribe from others.")
        watch = Watch(audience, canonical, partial(self._note, uri))
        await self.hub.add([watch])
        self.forget(canonical)
        self._watches[canonical] = watch

    def forget(self, canonical: str) -> None:
        if (watch := self._watches.pop(canonical, None)) is not None:
            self.hub.remove([watch])

    async def aclose(self) -> None:
        self.hub.remove(self._watches.values())
        self._watches.clear()
        self._telling.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._telling

    def _note(self, uri: str) -> None:
        self._changed[uri] = None
        self._wake.set()

    async def _tell(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            changed, self._changed = list(self._changed), {}
            for uri in changed:
                with background.surviving("update_not_told"):
                    await self._connection.send_resource_updated(uri)


def _of_session(session: ServerSession, hub: Hub) -> _Session:
    """Kept with the connection, which unwinds its stack however the session ends."""
    connection: Connection = session._connection
    found: _Session | None = connection.state.get(_STATE)
    if found is None:
        found = connection.state[_STATE] = _Session(connection, hub)
        connection.exit_stack.push_async_callback(found.aclose)
    return found


def _watches(audience: Audience, uris: list[str], bus: _Bus) -> list[Watch]:
    """What is no resource is honoured and never fires, as the protocol has it."""
    watches = []
    for uri in dict.fromkeys(uris):
        with contextlib.suppress(InvalidArgument):
            watches.append(Watch(audience, resources.canonical(uri), partial(bus.tell, ResourceUpdated(uri))))
    return watches


def _audience(caller: Caller) -> Audience:
    return Audience(caller.tenant, caller.author.conversation, caller.bound_to, caller.credential)
