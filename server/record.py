"""The one log line of a call: what was called, by whom, how long it took and how it ended."""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal, Protocol

from server import answers
from shared import logs, tracing
from shared.errors import MemhubError

Leg = Literal["embedding", "lexical", "hybrid", "whole"]
"""Of a search: the query's vector asked for; the database by words alone, and by words and vector; all of it."""


class Meter(Protocol):
    """Counts calls; what it is told has few values, and none that a caller chooses."""

    def called(self, event: str, name: str | None, *, outcome: str, seconds: float) -> None: ...

    def searched(self, leg: Leg, *, seconds: float) -> None: ...

    def degraded(self, tool: str) -> None: ...

    def screened(self, detector: str) -> None: ...


class Unmetered:
    def called(self, event: str, name: str | None, *, outcome: str, seconds: float) -> None: ...

    def searched(self, leg: Leg, *, seconds: float) -> None: ...

    def degraded(self, tool: str) -> None: ...

    def screened(self, detector: str) -> None: ...


class Record:
    """The first close writes the line and tells the meter."""

    def __init__(self, meter: Meter, event: str, *, name: str | None = None, **fields: object) -> None:
        self.request_id = secrets.token_hex(8)
        self.fields: dict[str, object] = dict(fields)
        self._meter = meter
        self._event = event
        self._name = name
        self.traceparent = tracing.join(self.request_id)
        self._started_s = time.perf_counter()
        self._closed = False

    def close(self, *, ok: bool, outcome: str) -> None:
        if self._closed:
            return
        self._closed = True
        seconds = time.perf_counter() - self._started_s
        self._meter.called(self._event, self._name, outcome=outcome, seconds=seconds)
        traced = {} if self.traceparent is None else {"trace": tracing.trace_id(self.traceparent)}
        logs.event(
            self._event,
            **self.fields,  # type: ignore[arg-type]
            ms=round(seconds * 1000, 2),
            ok=ok,
            outcome=outcome,
            request_id=self.request_id,
            **traced,
        )

    def crashed(self, bug: Exception) -> None:
        logs.failure("bug", bug, request_id=self.request_id)
        self.close(ok=False, outcome="INTERNAL_ERROR")


@asynccontextmanager
async def recorded(meter: Meter, event: str, uri: str | None) -> AsyncIterator[Record]:
    """A record of what is done with a resource; what is raised inside leaves as a protocol error."""
    record = Record(meter, event, resource=None, tenant=None, project=None)
    try:
        yield record
    except MemhubError as refused:
        record.close(ok=False, outcome=refused.code)
        raise answers.resource_refusal(refused, uri) from None
    except Exception as bug:
        record.crashed(bug)
        raise answers.resource_bug(record.request_id, uri) from None
    finally:
        record.close(ok=False, outcome="CANCELLED")
