"""What one client of a soak does: mixed calls, one after the other, each answer looked at."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import httpx2

from tests.http.callers import ERAS, RawClient

TENANTS = 10
_SUBJECTS = ("deployment", "pagination", "cache", "schema", "queue", "token", "retry", "index", "release", "backup")
_RULES = ("uses cursors", "runs on Fridays", "is bounded", "has an owner", "keeps its order", "is written twice")


@dataclass
class Tally:
    """What all clients saw; a time for each call, and every answer that was none."""

    ms: dict[str, list[float]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    written: set[str] = field(default_factory=set)
    """The texts that were answered as created or as revised to."""

    @property
    def calls(self) -> int:
        return sum(len(taken) for taken in self.ms.values())


@dataclass
class SoakClient:
    http: httpx2.AsyncClient
    number: int
    tally: Tally
    random: random.Random = field(init=False)
    raw: RawClient = field(init=False)
    memory: dict[str, Any] | None = field(default=None, init=False)
    """The last one that was written, as it is now."""

    def __post_init__(self) -> None:
        self.random = random.Random(self.number)

    async def run(self, *, until_s: float, think_s: float) -> None:
        """Calls until the clock of time.monotonic() says `until_s`."""
        tenant = ("X-Memory-Tenant", f"soak-{self.number % TENANTS}")
        self.raw = RawClient(http=self.http, era=ERAS[self.number % len(ERAS)], headers=[tenant])
        await asyncio.sleep(self.random.random() * think_s)
        assert (await self.raw.open()).status_code == 200
        while time.monotonic() < until_s:
            await asyncio.sleep(self.random.uniform(0.5, 1.5) * think_s)
            action, weight = zip(*self._actions(), strict=True)
            await self._timed(self.random.choices(action, weight)[0])

    def _actions(self) -> list[tuple[Callable[[], Awaitable[str]], int]]:
        always = [(self._search, 40), (self._browse, 5), (self._remember, 25), (self._context, 8), (self._stats, 2)]
        return [*always, *([(self._revise, 10), (self._read, 7), (self._forget, 3)] if self.memory else [])]

    async def _timed(self, action: Callable[[], Awaitable[str]]) -> None:
        began = time.perf_counter()
        try:
            name = await action()
        except Exception as failure:
            self.tally.errors.append(f"{action.__name__}: {type(failure).__name__}: {str(failure)[:300]}")
            return
        self.tally.ms.setdefault(name, []).append((time.perf_counter() - began) * 1000)

    def _words(self) -> str:
        return f"The {self.random.choice(_SUBJECTS)} of service {self.random.randrange(1_000)}"

    def _text(self) -> str:
        return (
            f"{self._words()} {self.random.choice(_RULES)}, says client {self.number}.{self.random.randrange(10**9)}."
        )

    async def _remember(self) -> str:
        text = self._text()
        made = await self.raw.use("memory_remember", content=text, type="FACT")
        assert made["outcome"] == "created", made["outcome"]
        self.memory = made["memory"]
        self.tally.written.add(text)
        return "memory_remember"

    async def _revise(self) -> str:
        assert self.memory is not None
        text = self._text()
        memory_id, revision = self.memory["memory_id"], self.memory["revision"]
        made = await self.raw.use("memory_revise", memory_id=memory_id, expected_revision=revision, content=text)
        assert made["outcome"] == "revised", made["outcome"]
        self.memory = made["memory"]
        self.tally.written.add(text)
        return "memory_revise"

    async def _forget(self) -> str:
        assert self.memory is not None
        memory_id, self.memory = self.memory["memory_id"], None
        made = await self.raw.use("memory_forget", memory_id=memory_id)
        assert made["outcome"] == "forgotten", made["outcome"]
        return "memory_forget"

    async def _search(self) -> str:
        await self.raw.use("memory_search", query=self._words())
        return "memory_search"

    async def _browse(self) -> str:
        await self.raw.use("memory_search")
        return "memory_search, newest"

    async def _context(self) -> str:
        await self.raw.use("memory_context", query=self._words(), token_budget=1_000)
        return "memory_context"

    async def _stats(self) -> str:
        await self.raw.use("memory_stats")
        return "memory_stats"

    async def _read(self) -> str:
        assert self.memory is not None
        read = await self.raw.read(f"memory://memories/{self.memory['memory_id']}")
        assert "result" in read, read
        return "resources/read"
