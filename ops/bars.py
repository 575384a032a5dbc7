"""Progress on a terminal; elsewhere silence, or lines for what takes long."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from ops.terminal import Terminal

LINES = 20


@contextmanager
def reading(task: str, size_bytes: int) -> Iterator[Callable[[int], None]]:
    """A bar on standard error that is told the bytes read so far."""
    with _bar(task, size_bytes, DownloadColumn()) as advance:
        yield advance


@contextmanager
def counting(task: str, total: int, unit: str) -> Iterator[Callable[[int], None]]:
    """A bar on standard error that is told how many are done."""
    with _bar(f"{task} {unit}", total, MofNCompleteColumn()) as advance:
        yield advance


class Watch:
    """What is shown of something that others do."""

    def __init__(self, progress: Progress, task: str, *, terminal: bool) -> None:
        self._progress = progress
        self._bar = progress.add_task(task, total=None)
        self._task = task
        self._terminal = terminal
        self._told: tuple[int, int] | None = None

    def tell(self, done: int, total: int) -> None:
        """Moves the bar; without a terminal it is a line for every twentieth."""
        self._progress.update(self._bar, completed=done, total=total)
        share = (LINES * done // total if total else LINES, total == done)
        if not self._terminal and share != self._told:
            self._told = share
            self.say(f"{self._task}: {done:,} of {total:,}")

    def say(self, text: str) -> None:
        self._progress.console.print(text, soft_wrap=True)


@contextmanager
def watching(task: str) -> Iterator[Watch]:
    """A bar on standard error whose end moves too, and lines between."""
    shown = sys.stderr.isatty()
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Terminal(stderr=True), transient=True, disable=not shown) as progress:
        yield Watch(progress, task, terminal=shown)


@contextmanager
def _bar(task: str, total: int, column: ProgressColumn) -> Iterator[Callable[[int], None]]:
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), column, TimeRemainingColumn())
    shown = sys.stderr.isatty()
    with Progress(*columns, console=Terminal(stderr=True), transient=True, disable=not shown) as progress:
        bar = progress.add_task(task, total=total)
        yield lambda done: progress.update(bar, completed=done)
