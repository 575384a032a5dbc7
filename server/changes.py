"""Follows the feed of changes while anybody watches a resource, and tells each watcher what it may see."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from uuid import UUID

from server import background, resources
from server.gateway import Gateway
from shared.domain import Change, Changes
from shared.errors import BackendBusy

POLL_S = 0.5
"""An update arrives within two seconds of its commit: one poll, one query, and room for a busy machine."""

WATCHES_MAX = 100_000
WATCHES_OF_CALLER_MAX = WATCHES_MAX // 10


@dataclass(frozen=True, slots=True)
class Audience:
    """Whose eyes: a change is told to who could read the memory that changed."""

    tenant: str
    conversation: str | None
    bound_to: UUID | None
    credential: str | None = None

    def may_see(self, change: Change) -> bool:
        return (
            change.tenant == self.tenant
            and change.conversation in (None, self.conversation)
            and self.bound_to in (None, change.project_id)
        )


@dataclass(frozen=True, slots=True, eq=False)
class Watch:
    """One watched resource by its canonical URI; `tell` returns at once and does not raise."""

    audience: Audience
    uri: str
    tell: Callable[[], None]


class Hub:
    """All watches of a process. It asks the database only while there are any."""

    def __init__(self, gateway: Gateway, *, poll_s: float = POLL_S) -> None:
        self._gateway = gateway
        self._poll_s = poll_s
        self._watches: dict[tuple[str, str], set[Watch]] = {}
        self._count = 0
        self._of_caller: Counter[str] = Counter()
        self._snapshot: str | None = None
        self._following: asyncio.Task[None] | None = None
        self._reading = asyncio.Lock()

    @property
    def watches(self) -> int:
        return self._count

    @property
    def is_following(self) -> bool:
        return self._following is not None

    async def add(self, watches: Collection[Watch]) -> None:
        """What commits after this returned is told, and nothing older.

        Raises BackendBusy, and what the database raises.
        """
        self._reserve(watches)
        try:
            async with self._reading:
                await self._advance()
                for watch in watches:
                    self._watches.setdefault((watch.audience.tenant, watch.uri), set()).add(watch)
                if self._following is None:
                    self._following = asyncio.create_task(self._follow())
        except BaseException:
            for watch in watches:
                self._release(watch)
            raise

    def remove(self, watches: Collection[Watch]) -> None:
        for watch in watches:
            key = (watch.audience.tenant, watch.uri)
            same = self._watches.get(key, set())
            if watch in same:
                same.remove(watch)
                self._release(watch)
            if not same:
                self._watches.pop(key, None)

    def _reserve(self, watches: Collection[Watch]) -> None:
        """Before anything is waited for: else each of many that come at once finds room for all of them."""
        asked = Counter(watch.audience.credential for watch in watches)
        of_callers = ((self._of_caller[caller] + count) for caller, count in asked.items() if caller is not None)
        if self._count + len(watches) > WATCHES_MAX or any(count > WATCHES_OF_CALLER_MAX for count in of_callers):
            raise BackendBusy("This server watches as many resources as it can.", next="Subscribe again later.")
        self._count += len(watches)
        self._of_caller.update({caller: count for caller, count in asked.items() if caller is not None})

    def _release(self, watch: Watch) -> None:
        self._count -= 1
        if (caller := watch.audience.credential) is not None:
            self._of_caller[caller] -= 1
            if not self._of_caller[caller]:
                del self._of_caller[caller]

    async def aclose(self) -> None:
        if self._following is not None:
            self._following.cancel()
            await asyncio.wait({self._following})

    async def _follow(self) -> None:
        try:
            while self._watches:
                await asyncio.sleep(self._poll_s)
                # While the database is away the snapshot stays, so that nothing is missed afterwards.
                async with self._reading:
                    with background.surviving("feed_interrupted"):
                        await self._advance()
        finally:
            self._following = self._snapshot = None

    async def _advance(self) -> None:
        backend = await self._gateway.backend()
        async with backend.connection("read") as connection:
            if self._snapshot is None:
                self._snapshot = await backend.feed.snapshot(connection)
                return
            changes = await backend.feed.since(connection, self._snapshot)
        self._snapshot = changes.snapshot
        self._tell(changes)

    def _tell(self, changes: Changes) -> None:
        if changes.overflowed:
            told = [watch for watches in self._watches.values() for watch in watches]
        else:
            told = [watch for change in changes.changes for watch in self._of(change)]
        for watch in dict.fromkeys(told):
            watch.tell()

    def _of(self, change: Change) -> list[Watch]:
        return [
            watch
            for uri in resources.changed_by(change)
            for watch in self._watches.get((change.tenant, uri), ())
            if watch.audience.may_see(change)
        ]
