"""The stream of one watching client, in either era."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Any

import httpx2

from tests.http.callers import HeaderList, RawClient
from tests.http.processes import WAIT_S

OPENINGS_MAX = 500


class Updates:
    """The messages of one stream as they come."""

    def __init__(self) -> None:
        self.messages: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.reading: asyncio.Task[None] | None = None

    async def ended(self) -> None:
        """Raises what broke the stream."""
        assert self.reading is not None
        await self.reading

    async def next(self, within_s: float = WAIT_S) -> dict[str, Any]:
        async with asyncio.timeout(within_s):
            return await self.messages.get()

    async def next_uri(self, within_s: float = WAIT_S) -> str:
        message = await self.next(within_s)
        assert message["method"] == "notifications/resources/updated", message
        uri: str = message["params"]["uri"]
        return uri

    async def read(self, lines: AsyncIterator[str]) -> None:
        async for line in lines:
            if line.startswith("data:"):
                await self.messages.put(json.loads(line.removeprefix("data:")))


@contextlib.asynccontextmanager
async def watching(raw: RawClient, *uris: str, headers: HeaderList = ()) -> AsyncIterator[Updates]:
    """Subscribed and streaming, whatever the era's way to it."""
    updates = Updates()
    if raw.era == "2025-11-25":
        opening = _one_stream(raw, headers)
    else:
        message, own = raw.message("subscriptions/listen", {"notifications": {"resourceSubscriptions": list(uris)}})
        all_headers = raw.all_headers([*own, *headers])
        opening = raw.http.stream("POST", "/mcp", content=json.dumps(message), headers=all_headers, timeout=None)
    async with opening as stream:
        assert stream.status_code == 200, await stream.aread()
        updates.reading = asyncio.create_task(updates.read(stream.aiter_lines()))
        if raw.era == "2025-11-25":
            for uri in uris:
                subscribed = await raw.request("resources/subscribe", {"uri": uri}, headers=headers)
                assert "result" in subscribed.json(), subscribed.text
        else:
            assert (await updates.next())["method"] == "notifications/subscriptions/acknowledged"
        try:
            yield updates
        finally:
            updates.reading.cancel()


@contextlib.asynccontextmanager
async def _one_stream(raw: RawClient, headers: HeaderList) -> AsyncIterator[httpx2.Response]:
    """A session has one stream, and its server hears of the end of the last one a moment after it."""
    for _ in range(OPENINGS_MAX):
        async with raw.http.stream("GET", "/mcp", headers=raw.all_headers(headers), timeout=None) as stream:
            if stream.status_code != HTTPStatus.CONFLICT:
                yield stream
                return
    raise AssertionError("the session's last stream never ended")
