"""The one log line of a call: what was called, by whom, how long it took and how it ended."""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from server import answers
from shared import logs
from shared.errors import MemhubError


class Record:
    """The first close writes the line."""

    def __init__(self, event: str, **fields: object) -> None:
        self.request_id = secrets.token_hex(8)
        self.fields: dict[str, object] = dict(fields)
        self._event = event
        self._started_s = time.perf_counter()
        self._closed = False

    def close(self, *, ok: bool, outcome: str) -> None:
        if self._closed:
            return
        self._closed = True
        logs.event(
            self._event,
            **self.fields,  # type: ignore[arg-type]
            ms=round((time.perf_counter() - self._started_s) * 1000, 2),
            ok=ok,
            outcome=outcome,
            request_id=self.request_id,
        )

    def crashed(self, bug: Exception) -> None:
        logs.failure("bug", bug, request_id=self.request_id)
        self.close(ok=False, outcome="INTERNAL_ERROR")


@asynccontextmanager
async def recorded(event: str, uri: str | None) -> AsyncIterator[Record]:
    """A record of what is done with a resource; what is raised inside leaves as a protocol error."""
    record = Record(event, resource=None, tenant=None, project=None)
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
