"""How long tools take, told to the database now and then: the only place where people see it of all processes."""

from __future__ import annotations

from server import background
from server.gateway import Gateway
from server.record import Leg, Meter
from shared import timings


class Timed:
    """A meter before another one; what was noted while no connection is had waits for the next time."""

    def __init__(self, meter: Meter, gateway: Gateway, *, flush_s: float) -> None:
        self._meter = meter
        self._gateway = gateway
        self._flush_s = flush_s
        self._buffer = timings.TimingBuffer()

    def called(self, event: str, name: str | None, *, outcome: str, seconds: float) -> None:
        self._meter.called(event, name, outcome=outcome, seconds=seconds)
        if event == "tool_call" and name is not None:
            # An error's code is in capitals, an outcome is a word of the domain.
            self._buffer.note(name, ms=seconds * 1_000, ok=not outcome.isupper())

    def searched(self, leg: Leg, *, seconds: float) -> None:
        self._meter.searched(leg, seconds=seconds)

    def degraded(self, tool: str) -> None:
        self._meter.degraded(tool)

    def screened(self, detector: str) -> None:
        self._meter.screened(detector)

    async def run(self) -> None:
        """Writes every `flush_s`, until cancelled."""
        await background.every(self._flush_s, self.flush, event="timings_not_written")

    async def flush(self) -> None:
        if not self._buffer:
            return
        with background.surviving("timings_not_written"):
            await (await self._gateway.backend()).keep_timings(self._buffer)
