"""Running a command of people: with checked settings, to its status."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import typer

from ops.interrupts import interruptible
from shared import settings
from shared.settings import Settings


class Interrupted(Exception):
    """Ctrl-C, with what a person should know and do."""


def run(command: Callable[[Settings], Coroutine[Any, Any, int]], *, interrupted: str = "") -> None:
    """Runs an asynchronous command with the checked settings and exits with its status.

    `interrupted` is what a person should know and do after Ctrl-C. Raises Interrupted.
    """
    try:
        status = interruptible(command, settings.load())
    except KeyboardInterrupt:
        raise Interrupted(interrupted) from None
    if status:
        raise typer.Exit(status)
