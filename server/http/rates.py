"""How often one credential may call: a token bucket each (Turner, New directions in communications, 1986)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from shared.errors import MemhubError

IDENTITIES_MAX = 10_000
BURST_S = 2.0


class RateLimited(MemhubError):
    """Too many calls of one credential, or too many unknown ones from one address; `wait_s` until the next."""

    code = "RATE_LIMITED"
    retryable = True

    def __init__(self, message: str, *, wait_s: float) -> None:
        super().__init__(message, next="Call again after the seconds in Retry-After.")
        self.wait_s = wait_s


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

    def wait_s(self, identity: str, *, counts: bool = True) -> float:
        """0 for a call that may go on, and that `counts`; else how long to wait before the next one."""
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
