"""Who is let in by what credential: the unbound key, a token of the database, a token of an issuer, or nothing yet."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Iterable
from typing import Protocol

from shared import api_tokens
from shared.errors import Forbidden, Unauthorized
from shared.mounts import Connections
from shared.principal import ANYONE, KEY_IDENTITY, Principal
from shared.settings import Settings

EXISTENCE_S = 2.0
"""How old an answer may be to whether any token exists; only a server without a key asks."""


class Missing(Unauthorized):
    """No credential was sent at all: the challenge then names no error (RFC 6750, 3.1)."""


class InsufficientScope(Forbidden):
    """The issuer can mend it: `scopes` are what the next token must have, with those of ours that this one has."""

    def __init__(self, message: str, *, next: str, scopes: Iterable[str]) -> None:
        super().__init__(message, next=next)
        self.scopes = tuple(scopes)


class Issuer(Protocol):
    def may_be_issued(self, credential: str) -> bool: ...

    async def principal(self, credential: str) -> Principal: ...


class Credentials:
    """What opens a server. Without a key and an issuer it is open to anyone, until the first token is made.

    An issuer that is configured closes a server that cannot ask it, too.
    """

    def __init__(self, settings: Settings, database: Connections, *, issuer: Issuer | None = None) -> None:
        self._key = None if settings.api_key is None else digest(settings.api_key.get_secret_value())
        self._has_issuer = settings.oauth_issuer is not None
        self._issuer = issuer
        self._database = database
        self._tokens_exist = False
        self._tokens_looked_s = -EXISTENCE_S

    @property
    def mode(self) -> str:
        """For the line that every start writes."""
        named = ["key"] if self._key else []
        named += ["oauth"] if self._has_issuer else []
        return " and ".join([*named, "tokens"]) if named else "none until a token is made"

    @property
    def is_open(self) -> bool:
        return self._key is None and not self._has_issuer

    async def principal(self, bearer: str | None, *, address: str | None = None) -> Principal:
        """Who this is; `address` is where it comes from, None where guesses are counted elsewhere.

        Raises Unauthorized, Forbidden, RateLimited, and what the database raises where it has to be asked.
        """
        if bearer is None:
            return await self._without()
        if self._key is not None and hmac.compare_digest(digest(bearer), self._key):
            return Principal(identity=KEY_IDENTITY)
        if api_tokens.may_be_token(bearer):
            return _of(await self.token(bearer, address))
        if self._issuer is not None and self._issuer.may_be_issued(bearer):
            return await self._issuer.principal(bearer)
        raise api_tokens.unknown()

    async def authenticate(self, secret: str | None) -> Principal | None:
        """The same for a mounted application, which tells whom it does not let in by its own pages."""
        try:
            return await self.principal(secret)
        except (Unauthorized, Forbidden):
            return None

    async def token(self, bearer: str, _address: str | None) -> api_tokens.Token:
        """The token of that secret; a server that counts guesses counts them here. Raises Unauthorized."""
        async with self._database.connection("read") as connection:
            return await api_tokens.authenticate(connection, bearer)

    async def _without(self) -> Principal:
        if self.is_open and not await self._any_token():
            return ANYONE
        raise Missing(
            "Authorization: this server asks for a credential.",
            next="Send the header Authorization: Bearer with a key or a token of this server.",
        )

    async def _any_token(self) -> bool:
        if not self._tokens_exist and time.monotonic() - self._tokens_looked_s >= EXISTENCE_S:
            async with self._database.connection("read") as connection:
                self._tokens_exist = await api_tokens.any_exist(connection)
            self._tokens_looked_s = time.monotonic()
        return self._tokens_exist


def digest(credential: str) -> bytes:
    return hashlib.sha256(credential.encode("utf-8", "surrogateescape")).digest()


def _of(token: api_tokens.Token) -> Principal:
    return Principal(
        identity=f"token:{token.id}",
        tenant=token.tenant,
        project_id=token.project_id,
        read_only=token.read_only,
    )
