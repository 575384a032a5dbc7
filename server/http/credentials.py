"""From the bearer of a request to a principal: the unbound key, a token of the database, a token of an issuer."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections import OrderedDict
from typing import Protocol

from server.gateway import Gateway
from server.http.principal import ANYONE, KEY_IDENTITY, Principal
from server.http.rates import Rates
from server.http.usage import Usage
from shared import tokens
from shared.errors import RateLimited, Unauthorized
from shared.settings import Settings

EXISTENCE_S = 2.0
"""How old an answer may be to whether any token exists; only a server without a key asks."""

GUESSES_PER_S = 5.0
"""Unknown tokens of one address. Behind a proxy all share one: those that were let in before are not counted."""

KNOWN_MAX = 10_000


class Missing(Unauthorized):
    """No credential was sent at all: the challenge then names no error (RFC 6750, 3.1)."""


class Issuer(Protocol):
    def may_be_issued(self, credential: str) -> bool: ...

    async def principal(self, credential: str) -> Principal: ...


class Credentials:
    """What opens this server. Without a key and an issuer it is open to anyone, until the first token is made."""

    def __init__(self, settings: Settings, *, gateway: Gateway, usage: Usage, issuer: Issuer | None) -> None:
        self._key = None if settings.api_key is None else _hash(settings.api_key.get_secret_value())
        self._gateway = gateway
        self._usage = usage
        self._issuer = issuer
        self._known: OrderedDict[bytes, None] = OrderedDict()
        self._guesses = Rates(per_s=GUESSES_PER_S, clock=time.monotonic)
        self._tokens_exist = False
        self._tokens_looked_s = -EXISTENCE_S

    @property
    def mode(self) -> str:
        """For the line that every start writes."""
        named = ["key"] if self._key else []
        named += ["oauth"] if self._issuer else []
        return " and ".join([*named, "tokens"]) if named else "none until a token is made"

    @property
    def is_open(self) -> bool:
        return self._key is None and self._issuer is None

    async def principal(self, bearer: str | None, *, address: str | None = None) -> Principal:
        """Who this is; `address` is where it comes from, None where guesses are counted elsewhere.

        Raises Unauthorized, Forbidden, RateLimited, and what the database raises where it has to be asked.
        """
        if bearer is None:
            return await self._without()
        if self._key is not None and hmac.compare_digest(_hash(bearer), self._key):
            return Principal(identity=KEY_IDENTITY)
        if tokens.may_be_token(bearer):
            return await self._of_token(bearer, address)
        if self._issuer is not None and self._issuer.may_be_issued(bearer):
            return await self._issuer.principal(bearer)
        raise tokens.unknown()

    async def _without(self) -> Principal:
        if self.is_open and not await self._any_token():
            return ANYONE
        raise Missing(
            "Authorization: this server asks for a credential.",
            next="Send the header Authorization: Bearer with a key or a token of this server.",
        )

    async def _any_token(self) -> bool:
        if not self._tokens_exist and time.monotonic() - self._tokens_looked_s >= EXISTENCE_S:
            backend = await self._gateway.backend()
            async with backend.connection("read") as connection:
                self._tokens_exist = await tokens.any_exist(connection)
            self._tokens_looked_s = time.monotonic()
        return self._tokens_exist

    async def _of_token(self, bearer: str, address: str | None) -> Principal:
        """A guess costs a question to the database, so an address has few of them; what was right is no guess."""
        digest = _hash(bearer)
        if address is not None and digest not in self._known and (wait_s := self._guesses.wait_s(address, counts=0)):
            raise RateLimited("Too many unknown credentials came from this address; nothing was run.", wait_s=wait_s)
        backend = await self._gateway.backend()
        try:
            async with backend.connection("read") as connection:
                token = await tokens.authenticate(connection, bearer)
        except Unauthorized as refused:
            self._known.pop(digest, None)
            if address is not None and isinstance(refused, tokens.Unknown):
                self._guesses.wait_s(address)
            raise
        self._known[digest] = None
        self._known.move_to_end(digest)
        if len(self._known) > KNOWN_MAX:
            self._known.popitem(last=False)
        self._usage.note(token.id)
        return Principal(
            identity=f"token:{token.id}",
            tenant=token.tenant,
            project_id=token.project_id,
            read_only=token.read_only,
        )


def _hash(credential: str) -> bytes:
    return hashlib.sha256(credential.encode("utf-8", "surrogateescape")).digest()
