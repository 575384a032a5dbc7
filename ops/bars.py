"""Progress on a terminal, and silence elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)


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


@contextmanager
def _bar(task: str, total: int, column: ProgressColumn) -> Iterator[Callable[[int], None]]:
    columns = (TextColumn("{task.description}"), BarColumn(), column, TimeRemainingColumn())
    shown = sys.stderr.isatty()
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not shown) as progress:
        bar = progress.add_task(task, total=total)
        yield lambda done: progress.update(bar, completed=done)
