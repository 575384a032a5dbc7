"""Remembers which tokens were used, and writes it now and then: never on the way of a request."""

from __future__ import annotations

import asyncio
from uuid import UUID

from server import background
from server.gateway import Gateway
from shared import api_tokens

IDS_MAX = 100_000


class Usage:
    def __init__(self, gateway: Gateway, *, flush_s: float) -> None:
        self._gateway = gateway
        self._flush_s = flush_s
        self._used: set[UUID] = set()
        self._first = asyncio.Event()

    def note(self, token_id: UUID) -> None:
        if len(self._used) < IDS_MAX:
            self._used.add(token_id)
            self._first.set()

    async def run(self) -> None:
        """Writes the first use at once and the later ones every `flush_s`, until cancelled."""
        while True:
            await self._first.wait()
            self._first.clear()
            await self.flush()
            await asyncio.sleep(self._flush_s)

    async def flush(self) -> None:
        """Writes what was noted; what cannot be written now is kept for the next time."""
        used, self._used = self._used, set()
        if not used:
            return
        with background.surviving("token_use_not_written", tokens=len(used)):
            try:
                backend = await self._gateway.backend()
                async with backend.connection("write") as connection:
                    await api_tokens.note_used(connection, used)
            except BaseException:
                self._used |= used
                self._first.set()
                raise
