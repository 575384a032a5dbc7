"""Running a command of people: with checked settings, to its status."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import asyncpg
import typer

from ops.interrupts import interruptible
from shared import settings
from shared.errors import ConfigurationError
from shared.settings import Settings


class Interrupted(Exception):
    """Ctrl-C, with what a person should know and do."""


def run(command: Callable[[Settings], Coroutine[Any, Any, int]], *, interrupted: str = "") -> None:
    """Runs an asynchronous command with the checked settings and exits with its status.

    `interrupted` is what a person should know and do after Ctrl-C. Raises Interrupted, and ConfigurationError where the
    database role lacks a privilege.
    """
    try:
        status = interruptible(command, settings.load())
    except asyncpg.InsufficientPrivilegeError as refused:
        raise ConfigurationError(
            f"The role of MEMHUB_DATABASE_URL may not do this: {refused}.",
            next="Use the owner of the schema, or as an administrator: GRANT memhub_server TO that role.",
        ) from None
    except KeyboardInterrupt:
        raise Interrupted(interrupted) from None
    if status:
        raise typer.Exit(status)
