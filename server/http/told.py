"""Events that strangers can cause as often as they like, bounded in the log."""

from __future__ import annotations

import time

from shared import logs

TELL_EVERY_S = 10.0


class Told:
    """One event, written now and then however often it happens."""

    def __init__(self, event: str) -> None:
        self._event = event
        self._next_s = 0.0
        self._times = 0

    def tell(self, **fields: object) -> None:
        self._times += 1
        if time.monotonic() >= self._next_s:
            logs.event(self._event, level="WARNING", times=self._times, **fields)
            self._next_s = time.monotonic() + TELL_EVERY_S
            self._times = 0
