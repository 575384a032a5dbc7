"""What a benchmark says: a figure beside the floor of the same run, and the ratio that is aimed at."""

from __future__ import annotations

import statistics
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

WARM_UP_ROUNDS = 50


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


async def interleaved(rounds: int, steps: Mapping[str, Callable[[], Awaitable[object]]]) -> dict[str, float]:
    """The median milliseconds of each step, taken in turn so that the noise of the machine falls on all alike."""
    taken: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(rounds + WARM_UP_ROUNDS):
        for name, step in steps.items():
            began = time.perf_counter()
            await step()
            if number >= WARM_UP_ROUNDS:
                taken[name].append((time.perf_counter() - began) * 1_000)
    return {name: statistics.median(values) for name, values in taken.items()}


def show(title: str, figures: list[Figure]) -> None:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for heading in ("what", "measured", "floor", "ratio", "aim", "the floor is"):
        table.add_column(heading, justify="right" if heading in ("measured", "floor", "ratio") else "left")
    for figure in figures:
        table.add_row(
            figure.what,
            f"{figure.measured:,.2f} {figure.unit}",
            f"{figure.floor:,.2f} {figure.unit}",
            f"{figure.ratio:.2f}",
            figure.verdict,
            figure.floor_is,
        )
    Console(width=150).print(table)
