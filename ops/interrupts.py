"""Ctrl-C, SIGTERM and SIGHUP of an asynchronous command: the first ends it, those after it do not disturb how it cleans
up."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

import anyio

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_UNHANDLED = (signal.SIG_DFL, signal.default_int_handler)
_STDERR = 2
_ENDING = b"memhub: ending ...\n"

T = TypeVar("T")


def interruptible(command: Callable[..., Coroutine[Any, Any, T]], *arguments: Any) -> T:
    """What the command returns. Raises KeyboardInterrupt of the signal once it has cleaned up after one.

    asyncio's own way breaks into the clean-up at the second Ctrl-C. Afterwards the process ends in peace: a signal that
    comes later is ignored. What somebody else handles, or ignores as nohup does, stays theirs.
    """
    if threading.current_thread() is not threading.main_thread():
        return anyio.run(command, *arguments)
    before = {number: handler for number in ENDING if (handler := signal.getsignal(number)) in _UNHANDLED}
    interrupts = _Interrupts()
    for number in before:
        signal.signal(number, interrupts.take)
    try:
        return anyio.run(interrupts.guard, command, *arguments)
    except asyncio.CancelledError:
        if not interrupts.taken:
            raise
        raise KeyboardInterrupt(interrupts.number) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_IGN if interrupts.taken else handler)


class _Interrupts:
    def __init__(self) -> None:
        self.taken = 0
        self.number = signal.SIGINT
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Any] | None = None

    async def guard(self, command: Callable[..., Coroutine[Any, Any, T]], *arguments: Any) -> T:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        if self.taken:
            raise asyncio.CancelledError
        return await command(*arguments)

    def take(self, number: int, _frame: object) -> None:
        self.taken += 1
        if self.taken == 1:
            self.number = signal.Signals(number)
        if self.taken == 1 and self._loop is not None and self._task is not None:
            # Closed: it came when all was done.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._task.cancel)
        elif self.taken == 2:
            # Not printed: the signal may have come in the middle of a print.
            with suppress(OSError):
                os.write(_STDERR, _ENDING)
