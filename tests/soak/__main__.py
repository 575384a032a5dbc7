"""`python -m tests.soak`: prints what was seen; exits 1 on an error, a lost or doubled write, or memory that grows."""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys

from tests.soak import running
from tests.soak.places import embedded_server
from tests.soak.running import Soak

GROWTH_MAX = 1.10
"""Of the server's memory in the last third of a soak over that in the second: the first warms up."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--stalled", type=int, default=20, help="connections that begin something and never go on")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--think", type=float, default=8, help="seconds between two calls of one client, on average")
    given = parser.parse_args()
    with embedded_server() as (process, data_dir):
        soak = asyncio.run(
            running.run(
                process,
                data_dir,
                clients=given.clients,
                stalled=given.stalled,
                seconds=given.seconds,
                think_s=given.think,
            )
        )
    _show(soak)
    return 0 if _holds(soak) else 1


def thirds(values: list[float]) -> tuple[float, float, float]:
    """The medians of the first, second and last third."""
    third = max(1, len(values) // 3)
    first, second, last = values[:third], values[third : 2 * third], values[-third:]
    return statistics.median(first), statistics.median(second or first), statistics.median(last)


def _holds(soak: Soak) -> bool:
    _first, middle, last = thirds(soak.rss_mb)
    return not (soak.tally.errors or soak.lost or soak.doubled or soak.violations) and last <= middle * GROWTH_MAX


def _show(soak: Soak) -> None:
    print(f"{soak.tally.calls:,} calls in {soak.seconds:.0f} s, {len(soak.tally.errors)} errors")
    for name, taken in sorted(soak.tally.ms.items()):
        cuts = statistics.quantiles(taken, n=100) if len(taken) > 1 else [taken[0]] * 99
        print(f"  {name:22} {len(taken):7,}  p50 {cuts[49]:7.1f} ms  p99 {cuts[98]:7.1f} ms  max {max(taken):7.1f} ms")
    print("server, MB: start {:.0f}, middle {:.0f}, end {:.0f}".format(*thirds(soak.rss_mb)))
    print(f"open files of the server, its clients gone: {soak.open_files}")
    print(f"{len(soak.tally.written):,} texts written, {len(soak.lost)} lost, {len(soak.doubled)} doubled")
    for told in [*soak.tally.errors[:20], *map(str, soak.violations)]:
        print(told)


if __name__ == "__main__":
    sys.exit(main())
