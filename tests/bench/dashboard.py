"""What each page of the dashboard takes of a server with 100,000 memories, over HTTP, against its bound of 300 ms."""

from __future__ import annotations

import statistics
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import asyncpg

from shared.settings import Settings
from tests.bench import places
from tests.bench.options import Options
from tests.bench.report import Figure
from tests.dashboard import many
from tests.dashboard.sites import Site, alone_at

MEMORIES = 100_000
MEMORIES_QUICK = 1_000
ROUNDS = 15
ROUNDS_QUICK = 2
BOUND_MS = 300

_PAGES = {
    "status": "/",
    "status, 24 months": "/?range=years",
    "memories, newest": "/memories",
    "memories, far down": "/memories?after={after}",
    "memories, a rare tag": "/memories?tags=rare",
    "memories, expired tasks": "/memories?status=expired&type=TASK",
    "memories, superseded": "/memories?status=superseded",
    "search, common words": "/memories?q=which+service+keeps+sessions+in+PostgreSQL",
    "search, one number": "/memories?q=ticket+OPS-4710",
    "one memory, 200 revisions": "/memories/{memory_id}",
    "projects": "/projects",
    "conflicts": "/conflicts",
    "tokens": "/tokens",
}


async def figures(options: Options) -> list[Figure]:
    async with places.database(durable=False) as url:
        ids = await _filled(url, options.count(MEMORIES, MEMORIES_QUICK))
        with places.undisturbed(await places.postmaster(url), real_time=options.real_time):
            async with _site(url) as site:
                return [
                    Figure(name, await _taken_ms(site, path.format(**ids), options), BOUND_MS, "ms", "its bound", aim=1)
                    for name, path in _PAGES.items()
                ]


async def _filled(url: str, memories: int) -> dict[str, str]:
    owner = await asyncpg.connect(url)
    try:
        await many.fill(owner, memories=memories)
        await owner.execute("VACUUM ANALYZE")
        revised = await owner.fetchval("SELECT memory_id FROM memhub.memory_revisions WHERE revision_no = 200 LIMIT 1")
        far = await owner.fetchrow(
            "SELECT created_at, memory_id FROM memhub.live_memories ORDER BY created_at, memory_id OFFSET 100 LIMIT 1"
        )
    finally:
        await owner.close()
    return {"memory_id": str(revised), "after": many.place(far)}


async def _taken_ms(site: Site, path: str, options: Options) -> float:
    taken = []
    for _ in range(options.count(ROUNDS, ROUNDS_QUICK) + 2):
        began = time.perf_counter()
        answer = await site.client.get(f"/ops{path}")
        taken.append((time.perf_counter() - began) * 1_000)
        assert answer.status_code == 200, answer.text
    return statistics.median(taken[2:])


@asynccontextmanager
async def _site(url: str) -> AsyncIterator[Site]:
    with TemporaryDirectory(prefix="mh-bench-") as folder:
        async with alone_at(url, Settings(database_url=url, data_dir=Path(folder))) as site:
            yield site
