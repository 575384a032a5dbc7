"""The credentials of a server that strangers reach: guessed tokens are bounded, and the use of right ones is noted."""

from __future__ import annotations

import time
from collections import OrderedDict

from server.gateway import Gateway
from server.http.rates import Rates
from server.http.usage import Usage
from shared import api_tokens, credentials
from shared.credentials import Issuer, digest
from shared.errors import RateLimited, Unauthorized
from shared.settings import Settings

UNKNOWN_PER_S = 5.0
"""Unknown credentials of one address. Behind a proxy all share one: those that were let in before are not counted."""

KNOWN_MAX = 10_000


class Credentials(credentials.Credentials):
    def __init__(self, settings: Settings, *, gateway: Gateway, usage: Usage, issuer: Issuer | None) -> None:
        super().__init__(settings, gateway, issuer=issuer)
        self._usage = usage
        self._known: OrderedDict[bytes, None] = OrderedDict()
        self._guesses = Rates(per_s=UNKNOWN_PER_S, clock=time.monotonic)

    async def token(self, bearer: str, address: str | None) -> api_tokens.Token:
        """A guess costs a question to the database, so an address has few of them; what was right is no guess."""
        given = digest(bearer)
        if address is not None and given not in self._known and (wait_s := self._guesses.wait_s(address, counts=0)):
            raise too_many_unknown(wait_s)
        try:
            token = await super().token(bearer, address)
        except Unauthorized as refused:
            self._known.pop(given, None)
            if address is not None and isinstance(refused, api_tokens.Unknown):
                self._guesses.wait_s(address)
            raise
        self._known[given] = None
        self._known.move_to_end(given)
        if len(self._known) > KNOWN_MAX:
            self._known.popitem(last=False)
        self._usage.note(token.id)
        return token


def too_many_unknown(wait_s: float) -> RateLimited:
    return RateLimited("Too many unknown credentials came from this address; nothing was run.", wait_s=wait_s)
