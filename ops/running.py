"""Running a command of people: with checked settings, to its status."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import anyio
import typer

from shared import settings
from shared.settings import Settings


def run(command: Callable[[Settings], Coroutine[Any, Any, int]]) -> None:
    """Runs an asynchronous command with the checked settings and exits with its status."""
    status = anyio.run(command, settings.load())
    if status:
        raise typer.Exit(status)
