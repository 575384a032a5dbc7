"""How long tools took: counted in a server's memory, added to hourly histograms now and then, read as quantiles."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from shared import statements

# No asyncpg here: a server notes before it has a database, and does not import one for that.
BUCKETS = 17
DAYS_KEPT = 14

_SQL = statements.load("timings")
_ADD = _SQL["add"]
_RECENT = _SQL["recent"]


class TimingBuffer:
    """What was called since the last flush: bounded by the tools that there are."""

    def __init__(self) -> None:
        self._calls: Counter[tuple[str, int]] = Counter()
        self._failures: Counter[tuple[str, int]] = Counter()

    def __len__(self) -> int:
        return len(self._calls)

    def note(self, tool: str, *, ms: float, ok: bool) -> None:
        """Touches no database."""
        key = (tool, bucket_of(ms))
        self._calls[key] += 1
        self._failures[key] += not ok

    async def flush(self, connection: Any) -> int:
        """Adds what was noted, commits, and returns the calls; what cannot be added is let go."""
        calls, failures = self._calls, self._failures
        self._calls, self._failures = Counter(), Counter()
        if not calls:
            return 0
        await connection.execute(
            _ADD,
            [tool for tool, _ in calls],
            [bucket for _, bucket in calls],
            list(calls.values()),
            [failures[key] for key in calls],
            DAYS_KEPT,
        )
        return calls.total()


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Quantiles are the upper bounds of their buckets: at most twice the truth."""

    tool: str
    calls: int
    failures: int
    p50_ms: int
    p95_ms: int
    p99_ms: int


async def latencies(connection: Any, *, hours: int) -> tuple[Latency, ...]:
    """Of each tool that was called in the last `hours`, by name."""
    by_tool: dict[str, list[Any]] = {}
    for row in await connection.fetch(_RECENT, hours):
        by_tool.setdefault(row["tool"], []).append(row)
    return tuple(_latency(tool, rows) for tool, rows in by_tool.items())


def bucket_of(ms: float) -> int:
    """The first bucket whose bound of 2^bucket ms holds it; the last one holds the rest."""
    return min(BUCKETS - 1, max(0, (max(0, int(-(-ms // 1)) - 1)).bit_length()))


def _latency(tool: str, rows: list[Any]) -> Latency:
    counts = {row["bucket"]: row["calls"] for row in rows}
    return Latency(
        tool=tool,
        calls=sum(counts.values()),
        failures=sum(row["failures"] for row in rows),
        p50_ms=_quantile_ms(counts, 0.50),
        p95_ms=_quantile_ms(counts, 0.95),
        p99_ms=_quantile_ms(counts, 0.99),
    )


def _quantile_ms(counts: dict[int, int], share: float) -> int:
    wanted, seen = share * sum(counts.values()), 0
    for bucket in sorted(counts):
        seen += counts[bucket]
        if seen >= wanted:
            return 1 << bucket
    return 0
