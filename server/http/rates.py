"""How often one credential may call: a token bucket each (Turner, New directions in communications, 1986)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from shared.errors import RateLimited
from shared.principal import KEY_IDENTITY, Principal

IDENTITIES_MAX = 10_000
BURST_S = 2.0


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled_s: float


class Rates:
    """`per_s` calls on average, `BURST_S` of them at once; of too many buckets the longest idle one goes."""

    def __init__(self, *, per_s: float, clock: Callable[[], float]) -> None:
        self._per_s = per_s
        self._burst = max(1.0, per_s * BURST_S)
        self._clock = clock
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def admit(self, principal: Principal, *, calls: int = 1) -> None:
        """Counts so many calls of this credential; one that weighs many is let in for the first. Raises RateLimited.

        The unbound key is the operator's own and shared by many clients.
        """
        if principal.identity in (None, KEY_IDENTITY):
            return
        wait_s = self.wait_s(str(principal.identity), counts=calls)
        if wait_s:
            raise RateLimited("This credential calls too often; nothing was run.", wait_s=wait_s)

    def wait_s(self, identity: str, *, counts: int = 1) -> float:
        """0 for a call that may go on, and that `counts` as so many; else how long to wait before the next one."""
        now_s = self._clock()
        bucket = self._buckets.setdefault(identity, _Bucket(self._burst, now_s))
        self._buckets.move_to_end(identity)
        if len(self._buckets) > IDENTITIES_MAX:
            self._buckets.popitem(last=False)
        bucket.tokens = min(self._burst, bucket.tokens + (now_s - bucket.filled_s) * self._per_s)
        bucket.filled_s = now_s
        if bucket.tokens < 1:
            return (1 - bucket.tokens) / self._per_s
        bucket.tokens -= counts
        return 0.0
