"""Keeps a worker process at work: comes back when the database does, serves the endpoint, stops within a bound."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext, suppress
from typing import TYPE_CHECKING

import psycopg
from procrastinate.exceptions import ConnectorException
from starlette.routing import Route

from shared import fleet, logs, outbox
from shared.embedded import GroundWatch, IdleWatch, folder, stop_if_idle
from shared.errors import BackendBusy, BackendUnavailable, ConfigurationError, DeadlineExceeded, UnknownOutcome
from shared.settings import Settings
from workers import shift
from workers.embedding.endpoint import application
from workers.embedding.serving import Endpoint, Place, require
from workers.manager import Orders
from workers.retry import backoff_s
from workers.shelf import Shelf
from workers.shift import Lasting

if TYPE_CHECKING:
    from workers.metrics import Metrics

COME_BACK_S = 0.2
COME_BACK_S_MAX = 10.0
# Beyond the jobs' own time to stop: connections to close, a batch of the model to end.
EXIT_GRACE_S = 7.0
IDLE_POLL_S = 1.0

_GONE = (BackendUnavailable, BackendBusy, DeadlineExceeded, UnknownOutcome, ConnectorException, psycopg.Error)


async def run(orders: Orders, settings: Settings, *, place: Place | None, detached: bool) -> None:
    """Works until SIGTERM, SIGINT or SIGHUP; detached also until its data folder is idle.

    It leaves no embedded database running that nobody uses. Raises ConfigurationError and SchemaMismatch, which no
    waiting mends.
    """
    stop = asyncio.Event()
    _stop_on_signals(stop, settings)
    embedded = settings.database_url is None
    shown = fleet.shown_alive(settings.data_dir) if embedded and not detached else nullcontext()
    try:
        with shown:
            async with _lasting(orders, settings, place) as lasting:
                while await _round(orders, settings, lasting, stop, detached=detached):
                    # Somebody came while we were leaving: the jobs are ours again.
                    logs.event("worker_stays")
    finally:
        await _leave(settings, detached=detached)


async def once(orders: Orders, settings: Settings) -> None:
    """Drains what is due. Raises BackendUnavailable, ConfigurationError, SchemaMismatch."""
    try:
        async with (
            _lasting(orders, settings, None) as lasting,
            shift.opened(orders, settings, lasting) as opened,
        ):
            await opened.drain()
    except (ConnectorException, psycopg.Error) as lost:
        raise BackendUnavailable(
            f"The queue lost its database: {type(lost).__name__}.", next="Start again; nothing is lost."
        ) from None
    finally:
        await _leave(settings, detached=False)


async def _leave(settings: Settings, *, detached: bool) -> None:
    """Stops an embedded database that nobody uses; another worker that is there looks after it.

    Raises nothing: where it cannot be done, why the worker ends matters more.
    """
    if settings.database_url is not None:
        return
    with suppress(BackendUnavailable, ConfigurationError, OSError):
        if detached or not fleet.is_worker_alive(settings.data_dir):
            await asyncio.to_thread(stop_if_idle, settings.data_dir)


async def _round(orders: Orders, settings: Settings, lasting: Lasting, stop: asyncio.Event, *, detached: bool) -> bool:
    """Works until told to leave; true when there is work again after all."""
    leave = asyncio.Event()
    watching = asyncio.create_task(_watch(leave, stop, settings, detached=detached), name="watch")
    try:
        await _work(orders, settings, lasting, leave)
    except BaseException:
        watching.cancel()
        raise
    idle = await watching
    return idle and not stop.is_set() and not await asyncio.to_thread(stop_if_idle, settings.data_dir)


async def _watch(leave: asyncio.Event, stop: asyncio.Event, settings: Settings, *, detached: bool) -> bool:
    """Sets `leave` when it is time to; true when nobody has used the data folder for `worker_idle_s`."""
    watch = IdleWatch(settings.data_dir)
    ground = GroundWatch(settings.data_dir) if settings.database_url is None else None
    try:
        while not stop.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), min(IDLE_POLL_S, settings.worker_idle_s))
            if ground is not None:
                await asyncio.to_thread(_look_at, ground)
            if detached:
                fleet.bound_log(settings.data_dir)
                if await asyncio.to_thread(watch.idle_for_s) > settings.worker_idle_s:
                    return True
        return False
    finally:
        leave.set()


def _look_at(ground: GroundWatch) -> None:
    """Tells which server will end with its folder, and when the folder was taken."""
    before = ground.server_pid
    if ground.look():
        logs.event("database_taken_away", level="WARNING")
    if ground.server_pid != before:
        logs.event("database_watched", pid=ground.server_pid)


async def _work(orders: Orders, settings: Settings, lasting: Lasting, leave: asyncio.Event) -> None:
    """One shift after the other: procrastinate's worker ends, with an error or without, when it loses the database."""
    failures = 0
    was_there = False
    while not leave.is_set():
        if was_there:
            await _until_there(settings, leave)
        began_s = asyncio.get_running_loop().time()
        began = asyncio.Event()
        try:
            await _shift(orders, settings, lasting, leave, began)
        except _GONE as gone:
            logs.event("database_lost", level="WARNING", error=type(gone).__name__)
        was_there = was_there or began.is_set()
        if leave.is_set():
            return
        lasted_s = asyncio.get_running_loop().time() - began_s
        failures = 0 if lasted_s > COME_BACK_S_MAX else failures + 1
        with suppress(TimeoutError):
            pause_s = backoff_s(failures, base_s=COME_BACK_S, max_s=COME_BACK_S_MAX)
            await asyncio.wait_for(leave.wait(), pause_s)


async def _until_there(settings: Settings, leave: asyncio.Event) -> None:
    """Waits while an embedded database is missing from its place, or until told to leave: none is made instead."""
    if settings.database_url is not None:
        return
    layout = folder.locate(settings.data_dir)
    if not layout.is_made:
        logs.event("database_missing", level="ERROR", place=str(layout.cluster))
    while not leave.is_set() and not layout.is_made:
        with suppress(TimeoutError):
            await asyncio.wait_for(leave.wait(), IDLE_POLL_S)


async def _shift(
    orders: Orders, settings: Settings, lasting: Lasting, leave: asyncio.Event, began: asyncio.Event
) -> None:
    """One shift. Told to leave before it `began`, it is dropped: the database may be long in coming."""

    async def work() -> None:
        async with shift.opened(orders, settings, lasting) as opened:
            began.set()
            await opened.run(leave)

    working = asyncio.create_task(work(), name="shift")
    leaving = asyncio.create_task(leave.wait(), name="leave")
    await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
    leaving.cancel()
    if not began.is_set() and not working.done():
        working.cancel()
    with suppress(asyncio.CancelledError):
        await working


@asynccontextmanager
async def _lasting(orders: Orders, settings: Settings, place: Place | None) -> AsyncIterator[Lasting]:
    """The models of the process and, where there is a place, the endpoint that serves them and the metrics."""
    shelf = Shelf(settings)
    ended = asyncio.Event()
    metrics: Metrics | None = None
    serving: asyncio.Task[None] | None = None
    if place is not None and place.path is None:
        await asyncio.to_thread(require, place)
    if outbox.EMBED_QUEUE in orders.queues:
        await shelf.open()
    if place is not None:
        metrics = _metrics(settings)
        endpoint = Endpoint(application(shelf.served, Route("/metrics", metrics.answer)), place=place)
        serving = asyncio.create_task(endpoint.run(ended), name="endpoint")
        serving.add_done_callback(_tell_failure)
    try:
        yield Lasting(shelf, metrics)
    finally:
        ended.set()
        await shelf.close()
        if serving is not None:
            await asyncio.wait({serving})


def _metrics(settings: Settings) -> Metrics:
    from workers.metrics import Metrics  # noqa: PLC0415 - only who serves them pays for the import

    return Metrics(settings)


def _tell_failure(serving: asyncio.Task[None]) -> None:
    if not serving.cancelled() and (failed := serving.exception()) is not None:
        logs.failure("endpoint_failed", failed)


def _stop_on_signals(stop: asyncio.Event, settings: Settings) -> None:
    loop = asyncio.get_running_loop()

    def told() -> None:
        if not stop.is_set():
            stop.set()
            # A thread that hangs must not hold the process: the tender takes up what it leaves.
            loop.call_later(settings.worker_stop_s + EXIT_GRACE_S, os._exit, 1)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, told)
