"""What a benchmark says: a figure beside the floor of the same run, and the ratio that is aimed at."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

WARM_UP_ROUNDS = 50
CONSOLE = Console(width=150)


@dataclass(frozen=True, slots=True)
class Figure:
    """`measured` and `floor` in `unit`; `aim` bounds measured ÷ floor from above, or from below where `at_least`."""

    what: str
    measured: float
    floor: float
    unit: str
    floor_is: str
    aim: float | None = None
    at_least: bool = False

    @property
    def ratio(self) -> float:
        return self.measured / self.floor

    @property
    def verdict(self) -> str:
        if self.aim is None:
            return ""
        met = self.ratio >= self.aim if self.at_least else self.ratio <= self.aim
        bound = "≥" if self.at_least else "≤"
        return f"[{'green' if met else 'red'}]{bound} {self.aim:g} {'met' if met else 'missed'}[/]"


@dataclass(frozen=True, slots=True)
class Sample:
    """Medians of one step: what passed on the clock, and what this process and the database's worked."""

    wall_ms: float
    cpu_ms: float


def no_other_process_ms() -> float:
    return 0.0


async def interleaved(
    rounds: int,
    steps: Mapping[str, Callable[[], Awaitable[object]]],
    *,
    other_process_ms: Callable[[], float] = no_other_process_ms,
) -> dict[str, Sample]:
    """Every step in turn, so that the noise of the machine falls on all alike; the first rounds do not count."""
    wall: dict[str, list[float]] = {name: [] for name in steps}
    cpu: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(rounds + min(rounds, WARM_UP_ROUNDS)):
        for name, step in steps.items():
            worked, began = time.process_time() * 1_000 + other_process_ms(), time.perf_counter()
            await step()
            elapsed_ms = (time.perf_counter() - began) * 1_000
            if number >= min(rounds, WARM_UP_ROUNDS):
                wall[name].append(elapsed_ms)
                cpu[name].append(time.process_time() * 1_000 + other_process_ms() - worked)
    return {name: Sample(statistics.median(wall[name]), statistics.median(cpu[name])) for name in steps}


def show(title: str, figures: Iterable[Figure]) -> None:
    load = os.getloadavg()[0]
    heading = f"{title} (load {load:.1f} on {os.cpu_count()} cores)"
    table = Table(title=heading, title_justify="left", box=None, pad_edge=False)
    for column in ("what", "measured", "floor", "ratio", "aim", "the floor is"):
        table.add_column(column, justify="right" if column in ("measured", "floor", "ratio") else "left")
    for figure in figures:
        table.add_row(
            figure.what,
            f"{figure.measured:,.2f} {figure.unit}",
            f"{figure.floor:,.2f} {figure.unit}",
            f"{figure.ratio:.2f}",
            figure.verdict,
            figure.floor_is,
        )
    CONSOLE.print(table)
    CONSOLE.print()
