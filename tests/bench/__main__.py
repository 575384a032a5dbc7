"""`python -m tests.bench [SECTION...]`: each section prints its table; nothing fails on a figure."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable, Coroutine, Mapping

from tests.bench import (
    approximate,
    dashboard,
    everything,
    fleet,
    http,
    imports,
    processes,
    recall,
    scale,
    searching,
    writers,
    writes,
)
from tests.bench.options import Options
from tests.bench.report import Figure, show

SECTIONS: Mapping[str, Callable[[Options], Coroutine[None, None, list[Figure]]]] = {
    "writes": writes.figures,
    "writers": writers.figures,
    "search": searching.figures,
    "everything": everything.figures,
    "scale": scale.figures,
    "projects": scale.of_many,
    "recall": recall.figures,
    "approximate": approximate.figures,
    "fleet": fleet.figures,
    "backlog": fleet.backlog,
    "processes": processes.figures,
    "http": http.figures,
    "dashboard": dashboard.figures,
    "import": imports.figures,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"{', '.join(SECTIONS)}; without one: all")
    parser.add_argument(
        "--quick", action="store_true", help="under a minute: shows that it runs, says nothing of speed"
    )
    parser.add_argument(
        "--real-time",
        action="store_true",
        help="as root on a busy Linux: writes and search go before all other processes",
    )
    given = parser.parse_args()
    if unknown := set(given.sections) - SECTIONS.keys():
        parser.error(f"no section {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
    options = Options(quick=given.quick, real_time=given.real_time)
    for name in given.sections or SECTIONS:
        show(name, asyncio.run(SECTIONS[name](options)))


if __name__ == "__main__":
    main()
