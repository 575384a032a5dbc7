"""Logins of this process: a cookie names one, and it holds the credential that is asked again at every request."""

from __future__ import annotations

import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace

COOKIE = "memhub_ops"
LIFETIME_S = 12 * 3600
SESSIONS_MAX = 1_000
FAILURES_MAX = 10
FAILURES_WINDOW_S = 60
ADDRESSES_MAX = 10_000


@dataclass(frozen=True, slots=True)
class Session:
    """`secret` is None where no credential is needed; `tenant` is the one that an unbound visitor chose."""

    secret: str | None = field(repr=False)
    csrf: str = field(repr=False)
    tenant: str | None
    ends_at_s: float

    def allows(self, csrf: str) -> bool:
        return hmac.compare_digest(self.csrf.encode(), csrf.encode())


class Sessions:
    """Kept in memory: a restart asks everyone to log in again. Beyond SESSIONS_MAX the oldest ends."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._held: OrderedDict[str, Session] = OrderedDict()
        # Whoever loads a page has its token; another origin cannot read it.
        self.open = Session(secret=None, csrf=secrets.token_urlsafe(32), tenant=None, ends_at_s=float("inf"))

    def begin(self, secret: str) -> str:
        """A new session's name, for its cookie."""
        name = secrets.token_urlsafe(32)
        ends_at_s = self._clock() + LIFETIME_S
        self._held[name] = Session(secret=secret, csrf=secrets.token_urlsafe(32), tenant=None, ends_at_s=ends_at_s)
        while len(self._held) > SESSIONS_MAX:
            self._held.popitem(last=False)
        return name

    def find(self, name: str | None) -> Session | None:
        session = self._held.get(name or "")
        if session is None or session.ends_at_s > self._clock():
            return session
        self.end(name)
        return None

    def choose(self, name: str, tenant: str) -> None:
        self._held[name] = replace(self._held[name], tenant=tenant)

    def end(self, name: str | None) -> None:
        self._held.pop(name or "", None)


class Failures:
    """Failed logins of each address: a credential is long, a person who mistypes it more often waits a minute."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: OrderedDict[str, list[float]] = OrderedDict()

    def too_many(self, address: str) -> bool:
        return len(self._recent(address)) >= FAILURES_MAX

    def note(self, address: str) -> float:
        """The moment, by which `forgive` knows it."""
        moment = self._clock()
        self._seen[address] = [*self._recent(address), moment]
        self._seen.move_to_end(address)
        while len(self._seen) > ADDRESSES_MAX:
            self._seen.popitem(last=False)
        return moment

    def forgive(self, address: str, moment: float) -> None:
        """What was noted then was no failure."""
        with suppress(ValueError):
            self._seen.get(address, []).remove(moment)

    def _recent(self, address: str) -> list[float]:
        since = self._clock() - FAILURES_WINDOW_S
        return [moment for moment in self._seen.get(address, []) if moment > since]
