"""One life of a worker on one database: from its first connection until it is told to stop or loses it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

import asyncpg
import psycopg
from procrastinate import App, PsycopgConnector
from procrastinate.middleware import WorkerMiddleware
from procrastinate.worker import Worker

from shared import opening, statements
from shared.database import SERVER_ROLE, Database
from shared.embedded import ensure_running
from shared.errors import BackendUnavailable
from shared.settings import Settings, exports_traces
from workers import actors, runs
from workers.manager import Manager, Orders
from workers.shelf import Shelf

if TYPE_CHECKING:
    from workers.metrics import Metrics

POOL_WAIT_S = 5.0
POLL_S = 1.0
# Beside the jobs' own statements: the heartbeat, the poll, the periodic deferrer, the listener.
POOL_SPARE = 4
ONCE_ROUNDS_MAX = 1_000

_DUE_JOBS = statements.load("fleet")["due_jobs"]


@dataclass(frozen=True, slots=True)
class Lasting:
    """What outlives the shifts of a process; `metrics` are there where they are served."""

    shelf: Shelf
    metrics: Metrics | None = None


class Shift:
    """A worker whose actors are enlisted, ready to run."""

    def __init__(
        self, app: App, database: Database, orders: Orders, settings: Settings, middleware: Sequence[WorkerMiddleware]
    ) -> None:
        self._app = app
        self._middleware = middleware
        self._database = database
        self._orders = orders
        self._settings = settings

    async def run(self, stop: asyncio.Event) -> None:
        """Works until `stop`, or until procrastinate's worker ends: it does, without an error, without a database."""
        worker = self._worker(wait=True)
        running: asyncio.Task[None] = asyncio.create_task(worker.run(), name="worker")  # type: ignore[no-untyped-call]
        stopping = asyncio.create_task(stop.wait(), name="stop")
        try:
            await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
            worker.stop()  # type: ignore[no-untyped-call]
            await running

    async def drain(self) -> None:
        """Works until nothing is due."""
        for _ in range(ONCE_ROUNDS_MAX):
            await self._worker(wait=False).run()  # type: ignore[no-untyped-call]
            async with self._database.connection("read") as connection:
                if not await connection.fetchval(_DUE_JOBS, list(self._orders.queues)):
                    return

    def _worker(self, *, wait: bool) -> Worker:
        return Worker(
            self._app,
            queues=list(self._orders.queues),
            concurrency=self._orders.concurrency,
            wait=wait,
            fetch_job_polling_interval=POLL_S,
            shutdown_graceful_timeout=self._settings.worker_stop_s,
            listen_notify=wait,
            delete_jobs="never",
            install_signal_handlers=False,
            update_heartbeat_interval=self._settings.worker_heartbeat_s,
            stalled_worker_timeout=self._settings.worker_silence_s,
            worker_middleware=[*_spans(), *self._middleware, runs.errors_kept(self._database)],
        )


def _spans() -> list[WorkerMiddleware]:
    if not exports_traces():
        return []
    from workers.spans import traced  # noqa: PLC0415 - only a process that traces pays for it

    return [traced]


@asynccontextmanager
async def opened(orders: Orders, settings: Settings, lasting: Lasting) -> AsyncIterator[Shift]:
    """A shift on the database of the settings; an embedded one is started and migrated, and not kept from stopping.

    Raises BackendUnavailable, ConfigurationError, SchemaMismatch, and what procrastinate's connector raises.
    """
    own = settings.database_url is None
    # What procrastinate does needs PostgreSQL itself: it listens, and its sessions act as a role.
    dsn = settings.direct_url or (await asyncio.to_thread(ensure_running, settings.data_dir)).dsn
    try:
        await opening.prepare(dsn, own=own)
    except asyncpg.PostgresError as refused:
        raise BackendUnavailable(
            f"The database refused a connection: {type(refused).__name__}.", next="Check MEMHUB_DATABASE_URL."
        ) from None
    database = await Database.open(settings.database_url or dsn, settings, application="memhub-worker")
    try:
        connector = _connector(dsn, orders)
        app = App(connector=connector)
        app.job_manager = Manager(connector, database, orders)
        async with app.open_async():
            enlisted = actors.enlist(app, orders.queues, database=database, settings=settings, shelf=lasting.shelf)
            for actor in enlisted:
                await actor.start()
            metrics = lasting.metrics
            with nullcontext() if metrics is None else metrics.watching(database):
                yield Shift(app, database, orders, settings, [] if metrics is None else [metrics.counted])
    finally:
        database.terminate()


def _connector(dsn: str, orders: Orders) -> PsycopgConnector:
    return PsycopgConnector(
        conninfo=dsn,
        min_size=1,
        max_size=orders.concurrency + POOL_SPARE,
        timeout=POOL_WAIT_S,
        kwargs={"application_name": "memhub-worker-queue"},
        configure=_act_as_server,
    )


async def _act_as_server(connection: psycopg.AsyncConnection) -> None:
    # Each of procrastinate's statements is whole by itself: without BEGIN and COMMIT it takes one round trip.
    await connection.set_autocommit(True)
    await connection.execute(f"SET ROLE {SERVER_ROLE}")
