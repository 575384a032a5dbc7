"""`memhub gc`: what the reaper and the collector do by the clock, done now."""

from __future__ import annotations

import sys

import orjson
from rich.table import Table

from ops import fetched
from ops.looking import working
from ops.terminal import Terminal
from shared import retention
from shared.runs import Details
from shared.settings import Settings

AGAIN = "What went is gone, each batch by itself; run it again for the rest."

_TOLD = {
    "memories": "expired memories out of the search tables; they stay in their history",
    "idempotency_keys": "idempotency keys past MEMHUB_IDEMPOTENCY_RETENTION_DAYS",
    "ended_jobs": "ended jobs past MEMHUB_JOB_RETENTION_DAYS",
    "failed_jobs": "failed jobs past MEMHUB_FAILED_JOB_RETENTION_DAYS",
    "embedding_work": "pieces of work for retired models and purged revisions",
    "vectors": "vectors of retired models",
    "past_vectors": "vectors of the past of retired models",
    "runs": "rows about runs past MEMHUB_RUN_RETENTION_DAYS",
    "folded_deltas": "counter deltas folded into their totals",
    "settled_words": "index of words settled after an import that was killed",
}


async def gc(settings: Settings, *, as_json: bool) -> int:
    """Reaps and collects as memhub_server, each run leaving its row, and prints what it took; what killed imports left
    among the temporary files of this machine goes without a word."""
    fetched.sweep()
    took: Details = {}
    failures: list[Exception] = []
    async with working(settings) as database:
        with retention.set_aside(failures):
            took |= await retention.reap(database)
        with retention.set_aside(failures):
            took |= await retention.collect(database, settings)
        if failures:
            raise failures[0]
    if as_json:
        sys.stdout.write(orjson.dumps(took).decode() + "\n")
        return 0
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(justify="right")
    for kind, count in took.items():
        table.add_row(f"{count:,}", _TOLD[kind])
    Terminal(width=None if sys.stdout.isatty() else 120).print(table)
    return 0
