"""Who calls over HTTP: the place and the credential of the request, the client's name from the protocol."""

from __future__ import annotations

from typing import Any

from mcp.server.context import ServerRequestContext

from server.call import Caller
from server.caller import Asked, client_name
from server.http.place import PROJECT
from server.http.tenant import PLACE, PRINCIPAL
from shared.domain import Author
from shared.errors import MemhubError
from shared.principal import ANYONE, KEY_IDENTITY


def identify(context: ServerRequestContext[Any, Any], asked: Asked) -> Caller:
    """Raises what stood in the way of the request's place: InvalidArgument, TenantRequired, Forbidden."""
    assert context.request is not None
    scope = context.request.scope
    place = scope[PLACE]
    if isinstance(place, MemhubError):
        raise place.with_traceback(None)
    principal = scope.get(PRINCIPAL, ANYONE)
    return Caller(
        tenant=place.tenant,
        author=Author(
            client=client_name(context),
            conversation=place.conversation,
            request_id=asked.request_id,
            traceparent=asked.traceparent,
        ),
        project=place.project,
        project_from=PROJECT,
        aliases={},
        has_default=True,
        read_only=principal.read_only,
        bound_to=principal.project_id,
        # The unbound key is the operator's own and shared by many clients.
        credential=None if principal.identity == KEY_IDENTITY else principal.identity,
    )
