"""Running a command of people: with checked settings, to its status."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

import typer

from ops.interrupts import interruptible
from ops.texts import shown
from shared import settings
from shared.settings import Settings

NAMED_MAX = 20
_SIGNALLED = 128


class Interrupted(Exception):
    """Ctrl-C, SIGTERM or SIGHUP, with what a person should know and do; `status` is as a shell tells the signal."""

    def __init__(self, told: str, status: int) -> None:
        super().__init__(told)
        self.status = status


def loaded() -> Settings:
    """The checked settings; variables that look like settings and are none are named on stderr.

    Raises ConfigurationError.
    """
    checked = settings.load()
    if names := settings.unknown():
        told = ", ".join(settings.named(names[:NAMED_MAX])) + (
            f" and {len(names) - NAMED_MAX:,} more" if names[NAMED_MAX:] else ""
        )
        print(f"memhub: warning: there is no such setting: {shown(told)}. Correct or unset it.", file=sys.stderr)
    return checked


def run(
    command: Callable[[Settings], Coroutine[Any, Any, int]],
    *,
    interrupted: str = "",
    load: Callable[[], Settings] = loaded,
) -> None:
    """Runs an asynchronous command with the checked settings and exits with its status.

    `interrupted` is what a person should know and do after a signal. Raises Interrupted.
    """
    with telling(interrupted):
        status = interruptible(command, load())
    if status:
        raise typer.Exit(status)


@contextmanager
def telling(interrupted: str = "") -> Iterator[None]:
    """Turns what `interruptible` raises after a signal into Interrupted."""
    try:
        yield
    except KeyboardInterrupt as ended:
        number, *_ = ended.args or (signal.SIGINT,)
        raise Interrupted(interrupted, _SIGNALLED + number) from None
