"""Thousands of crossing writes over a few memories and a few contents: no error, no deadlock, and all is sound."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from uuid import UUID

import asyncpg
import pytest

from shared.domain import Scope
from tests.memories.backends import backends
from tests.memories.clients import Client, client_of

WORKERS = 8
STEPS_PER_WORKER = 500
CONTENTS = [f"content {number}" for number in range(8)]
MEMORIES_MAX = 12
# Gone before the next statement begins: nothing is stored that has expired already.
MICROSECOND = 1 / 86_400_000_000

# Every outcome that can be met must be met, or the schedule has stopped to cross.
OUTCOMES = {
    "created",
    "deduplicated",
    "idempotent_replay",
    "refused",
    "revised",
    "conflict",
    "not_active",
    "duplicate",
    "forgotten",
    "already_forgotten",
    "restored",
    "already_active",
    "embedded",
    "passed",
}

_EMBED = """
INSERT INTO memhub.live_vectors (project_id, memory_id, revision_no, model_id, dimension, chunk_no, embedding)
SELECT $1, $2, $3, model.id, 3, chunk, '[1,0,0]'
FROM memhub.embedding_models AS model, generate_series(0, 1) AS chunk
ON CONFLICT DO NOTHING
"""


@dataclass
class World:
    """What the workers know of each other's memories: the newest ids, and the revision last seen of each."""

    seen: dict[UUID, int] = field(default_factory=dict)
    outcomes: Counter[str] = field(default_factory=Counter)

    def see(self, memory_id: UUID, revision: int) -> None:
        self.seen[memory_id] = revision
        if len(self.seen) > MEMORIES_MAX:
            del self.seen[next(iter(self.seen))]


@dataclass(frozen=True)
class Worker:
    client: Client
    chance: random.Random
    world: World

    async def run(self) -> None:
        acts: dict[Callable[[], Awaitable[str]], int] = {
            self.remember: 3,
            self.supersede: 3,
            self.revise: 6,
            self.forget: 2,
            self.restore: 3,
            self.embed: 2,
        }
        for _ in range(STEPS_PER_WORKER):
            (act,) = self.chance.choices(list(acts), weights=list(acts.values()))
            self.world.outcomes[await act()] += 1

    async def remember(self, supersedes: tuple[UUID, ...] = ()) -> str:
        said = await self.client.remember(
            self.chance.choice(CONTENTS),
            supersedes=supersedes,
            scope=self.chance.choices([Scope.PROJECT, Scope.CONVERSATION], weights=[1, 0 if supersedes else 0.2])[0],
            ttl_days=self.chance.choices([None, MICROSECOND], weights=[4, 1])[0],
        )
        if said.memory is not None:
            self.world.see(said.memory.memory_id, said.memory.revision)
        return said.outcome

    async def supersede(self) -> str:
        count = self.chance.randint(1, 3)
        return await self.remember(tuple(self._some(count)))

    async def revise(self) -> str:
        memory_id = self._some(1)[0]
        key = self.chance.choice([None, f"request-{memory_id}-{self.world.seen.get(memory_id, 1)}"])
        content = CONTENTS[0] if key else self.chance.choice(CONTENTS)
        revised = await self.client.revise(
            memory_id, self.world.seen.get(memory_id, 1), content, never_expires=True, client_request_id=key
        )
        if revised.outcome in ("revised", "conflict"):
            self.world.see(memory_id, revised.memory.revision)
        return revised.outcome

    async def forget(self) -> str:
        return (await self.client.forget(self._some(1)[0])).outcome

    async def restore(self) -> str:
        memory_id = self._some(1)[0]
        restored = await self.client.restore(memory_id)
        if restored.outcome == "restored":
            self.world.see(memory_id, restored.memory.revision)
        return restored.outcome

    async def embed(self) -> str:
        memory_id = self._some(1)[0]
        try:
            await self.client.connection.execute(
                _EMBED, self.client.scope.project_id, memory_id, self.world.seen.get(memory_id, 1)
            )
        except asyncpg.ForeignKeyViolationError:
            return "passed"
        return "embedded"

    def _some(self, count: int) -> list[UUID]:
        return self.chance.sample(list(self.world.seen), count)


@pytest.mark.parametrize("seed", [20260101])
async def test_crossing_writes_meet_no_error_and_no_deadlock(database_url: str, model: int, seed: int) -> None:
    # Fails when the statement lock orders by anything that differs between callers, and without its FOR UPDATE.
    async with backends(database_url, WORKERS) as connections:
        first = await client_of(connections[0], "payments")
        world = World()
        for content in CONTENTS[:4]:
            world.see(await first.saved(content), 1)
        workers = [
            Worker(
                Client(connection, first.scope, first.speaking(f"client-{number}", conversation="talk-1").author),
                random.Random(seed * WORKERS + number),
                world,
            )
            for number, connection in enumerate(connections)
        ]
        await asyncio.gather(*(worker.run() for worker in workers))

        assert world.outcomes.total() == WORKERS * STEPS_PER_WORKER
        assert world.outcomes.keys() == OUTCOMES
