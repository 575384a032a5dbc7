"""The sessions of the older era, bounded for each caller, so that one cannot take those of all others."""

from __future__ import annotations

from collections import Counter
from typing import Any

from mcp.server.auth.middleware.bearer_auth import AuthorizationContext
from mcp.server.streamable_http import StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import Receive, Scope, Send

from server.http.bodies import Readable
from shared import logs
from shared.principal import KEY_IDENTITY


class Sessions(StreamableHTTPSessionManager):
    """A caller beyond its own bound is refused as all are beyond the common one: 503.

    The unbound key, as with rates, is the operator's own and shared by many clients.
    """

    def __init__(self, *arguments: Any, caller_max: int, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._caller_max = caller_max
        self._of_caller: Counter[str] = Counter()

    def close_streams(self) -> None:
        """Ends every stream of the older era; the sessions stay, for calls that are in flight."""
        for transport in list(self._server_instances.values()):
            transport.close_standalone_sse_stream()

    async def _handle_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        await Readable(super()._handle_request)(scope, receive, send)

    def _admit_session(self, requestor: AuthorizationContext | None) -> StreamableHTTPServerTransport | None:
        caller = None if requestor is None else requestor["client_id"]
        if caller is None or caller == KEY_IDENTITY:
            return super()._admit_session(requestor)
        if self._of_caller[caller] >= self._caller_max:
            logs.event("http_sessions_of_caller_full", level="WARNING", sessions=self._caller_max)
            return None
        opened = super()._admit_session(requestor)
        if opened is not None:
            self._of_caller[caller] += 1
        return opened

    async def _discard_session(self, session_id: str, transport: StreamableHTTPServerTransport) -> None:
        owner = self._session_owners.get(session_id)
        if owner is not None and owner["client_id"] in self._of_caller:
            self._of_caller[owner["client_id"]] -= 1
            if self._of_caller[owner["client_id"]] <= 0:
                del self._of_caller[owner["client_id"]]
        await super()._discard_session(session_id, transport)
