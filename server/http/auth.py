"""Lets in who has a credential, and binds the session to it; probes and metadata are for everyone."""

from __future__ import annotations

import time
from http import HTTPStatus

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.http.credentials import UNKNOWN_PER_S, Credentials, too_many_unknown
from server.http.rates import Rates
from server.http.refusals import Refusals
from server.http.tenant import PRINCIPAL
from shared import logs
from shared.api_tokens import Unknown
from shared.credentials import InsufficientScope, Missing
from shared.errors import Forbidden, MemhubError, RateLimited, Unauthorized
from shared.principal import Principal

PUBLIC = frozenset({"/", "/livez", "/health", "/readyz"})
OPERATORS = frozenset({"/metrics"})
"""What tells of the whole process: not for a credential that belongs to one tenant."""

WELL_KNOWN = "/.well-known/"
_RETRY_AFTER_S = 2
END_S = 5.0


class AuthMiddleware:
    """401 without a usable credential, 403 where it does not reach, 429 where it calls too often."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        credentials: Credentials,
        rates: Rates,
        refusals: Refusals,
        metadata_url: str | None,
        recheck_s: float,
    ) -> None:
        self._app = app
        self._recheck_s = recheck_s
        self._credentials = credentials
        self._rates = rates
        self._refusals = refusals
        self._unknown = Rates(per_s=UNKNOWN_PER_S, clock=time.monotonic)
        self._metadata_url = metadata_url

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in PUBLIC and not scope["path"].startswith(WELL_KNOWN):
            refused = await self._entered(scope)
            if refused is not None:
                await refused(scope, receive, send)
                return
            if _may_stream(scope):
                await self._streamed(scope, receive, send)
                return
        await self._app(scope, receive, send)

    async def _streamed(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves a request that may stay open, as long as its credential holds; then its answer ends whole."""
        answer, refused = _Answer(send), None
        async with anyio.create_task_group() as tasks:

            async def serve() -> None:
                await self._app(scope, receive, answer.send)
                tasks.cancel_scope.cancel()

            tasks.start_soon(serve)
            refused = await self._lapsed(_bearer(Headers(scope=scope)))
            tasks.cancel_scope.cancel()
        if refused is None:
            return
        logs.event("stream_ended", level="WARNING", code=refused.code)
        if answer.is_begun:
            # Who reads no longer is waited for no longer.
            with anyio.move_on_after(END_S):
                await answer.end()
        else:
            await self._refused(refused)(scope, receive, send)

    async def _lapsed(self, bearer: str | None) -> MemhubError:
        """Comes back when the credential does not hold any longer, with what is said of it then."""
        while True:
            await anyio.sleep(self._recheck_s)
            try:
                await self._credentials.principal(bearer)
            except (Unauthorized, Forbidden) as refused:
                return refused
            except MemhubError:
                continue

    async def _entered(self, scope: Scope) -> Response | None:
        try:
            principal = await self._credentials.principal(_bearer(Headers(scope=scope)), address=_address(scope))
        except RateLimited as limited:
            return self._too_often(limited)
        except Unknown as error:
            # After it was looked at: what others send from its address shuts no holder of a good one out.
            wait_s = self._unknown.wait_s(_address(scope))
            return self._too_often(too_many_unknown(wait_s)) if wait_s else self._refused(error)
        except MemhubError as error:
            return self._refused(error)
        if principal.tenant is not None and scope["path"] in OPERATORS:
            return self._refused(_of_one_tenant())
        try:
            self._rates.admit(principal)
        except RateLimited as limited:
            return self._too_often(limited)
        scope[PRINCIPAL] = principal
        if principal.identity is not None:
            scope["user"] = _user(principal)
        return None

    def _refused(self, error: MemhubError) -> Response:
        extra: dict[str, str] = {}
        headers: dict[str, str] = {}
        match error:
            case Missing():
                status, headers = HTTPStatus.UNAUTHORIZED, {"WWW-Authenticate": self._challenge({"realm": "memhub"})}
            case Unauthorized():
                status, extra = HTTPStatus.UNAUTHORIZED, {"error": "invalid_token", "error_description": error.message}
            case InsufficientScope():
                status = HTTPStatus.FORBIDDEN
                extra = {"error": "insufficient_scope", "error_description": error.message}
                extra["scope"] = " ".join(error.scopes)
            case Forbidden():
                # No challenge: another token of the same scopes, or of more, would be refused alike.
                status = HTTPStatus.FORBIDDEN
            case _:
                status, headers = HTTPStatus.SERVICE_UNAVAILABLE, {"Retry-After": str(_RETRY_AFTER_S)}
        if extra:
            headers["WWW-Authenticate"] = self._challenge(extra)
        return self._refusals.refusal(
            status,
            error.code,
            error.message,
            next=error.next,
            retryable=error.retryable,
            headers=headers,
            extra=extra,
        )

    def _too_often(self, limited: RateLimited) -> Response:
        seconds = limited.retry_after_s
        return self._refusals.refusal(
            HTTPStatus.TOO_MANY_REQUESTS,
            limited.code,
            f"{limited.message} Wait {seconds} s.",
            next=limited.next,
            retryable=limited.retryable,
            headers={"Retry-After": str(seconds)},
        )

    def _challenge(self, fields: dict[str, str]) -> str:
        named = {**fields, **({"resource_metadata": self._metadata_url} if self._metadata_url else {})}
        return "Bearer " + ", ".join(f'{name}="{value.replace(chr(34), chr(39))}"' for name, value in named.items())


class _Answer:
    """An answer that may be ended before its application has ended it."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._is_open = False
        self.is_begun = False

    async def send(self, message: Message) -> None:
        if message["type"] != "http.response.start":
            self._is_open = self._is_open and bool(message.get("more_body", False))
            await self._send(message)
            return
        await self._send(message)
        # One of a length that was told cannot be ended before it.
        self._is_open = "content-length" not in Headers(raw=message["headers"])
        self.is_begun = True

    async def end(self) -> None:
        if self._is_open:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})


def _of_one_tenant() -> Forbidden:
    return Forbidden(
        "Authorization: this is told of the whole process, and this credential belongs to one tenant.",
        next="Read it with the key of MEMHUB_API_KEY.",
    )


def _may_stream(scope: Scope) -> bool:
    method = Headers(scope=scope).get("mcp-method")
    return scope["method"] == "GET" or method == "subscriptions/listen"


def _bearer(headers: Headers) -> str | None:
    given = headers.getlist("authorization")
    if not given:
        return None
    scheme, _space, credential = given[0].partition(" ")
    if len(given) > 1 or scheme.lower() != "bearer" or not credential.strip():
        raise Unknown(
            "Authorization: must be sent once, as Bearer and one credential.",
            next="Send the header Authorization: Bearer with a key or a token of this server.",
        )
    return credential.strip()


def _user(principal: Principal) -> AuthenticatedUser:
    """What the SDK compares: a session answers to the identity that opened it alone."""
    return AuthenticatedUser(AccessToken(token="", client_id=str(principal.identity), scopes=[]))


def _address(scope: Scope) -> str:
    """Of a server on a socket file all clients are one."""
    return scope["client"][0] if scope.get("client") else ""
