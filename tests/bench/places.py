"""Where the benchmarks run: a database of their own on a disk, and sessions like those of the server's pools."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import asyncpg
import psutil

from shared import migrations, projects
from shared.database import SERVER_ROLE, SESSIONS, Work
from shared.domain import Author, ProjectScope
from shared.embedding.models import PACKAGED_MODEL
from tests.database import running_cluster

TENANT = "local"
PROJECT = "bench"
AUTHOR = Author("bench", request_id="0123456789abcdef")

# Smallest of its kind: one row of a key and a text.
_FLOOR = """
CREATE TABLE public.floor (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, said text NOT NULL);
GRANT SELECT, INSERT ON public.floor TO memhub_server;
"""
# A current model, so that every write owes its job.
_MODEL = """
INSERT INTO memhub.embedding_models (name, dimension, floor, state, created_at)
VALUES ($1, 384, 0.25, 'current', clock_timestamp())
"""
_REAL_TIME = 10


@asynccontextmanager
async def database(*, durable: bool = True) -> AsyncIterator[str]:
    """The URL of a migrated database in a cluster that flushes to a disk; both are gone afterwards."""
    with running_cluster("18", durable=durable) as cluster:
        owner = await asyncpg.connect(cluster.url())
        try:
            await migrations.migrate(owner, create_extension=True)
            await owner.execute(_FLOOR)
            await owner.execute(_MODEL, PACKAGED_MODEL)
        finally:
            await owner.close()
        yield cluster.url()


@asynccontextmanager
async def session(url: str, work: Work) -> AsyncIterator[asyncpg.Connection]:
    connection = await connect(url, work)
    try:
        yield connection
    finally:
        await connection.close()


async def connect(url: str, work: Work) -> asyncpg.Connection:
    connection = await asyncpg.connect(url, server_settings=dict(SESSIONS[work]))
    await connection.execute(f"SET ROLE {SERVER_ROLE}")
    return connection


async def project(connection: asyncpg.Connection, slug: str = PROJECT) -> ProjectScope:
    return (await projects.use(connection, TENANT, AUTHOR, project=slug, aliases={}, create=True)).project


@contextmanager
def undisturbed(*processes: int, real_time: bool) -> Iterator[None]:
    """With `real_time`, this process, these and those that it starts go before all others of a busy machine."""
    if not real_time:
        yield
        return
    for process in (0, *processes):
        os.sched_setscheduler(process, os.SCHED_FIFO, os.sched_param(_REAL_TIME))
    try:
        yield
    finally:
        for process in (0, *processes):
            with suppress(ProcessLookupError):
                os.sched_setscheduler(process, os.SCHED_OTHER, os.sched_param(0))


async def postmaster(url: str) -> int:
    """The process that the sessions of this database begin in, from which they have their priority."""
    owner = await asyncpg.connect(url)
    try:
        return psutil.Process(owner.get_server_pid()).ppid()
    finally:
        await owner.close()


def worked_ms(process: int) -> Callable[[], float]:
    """Reads the milliseconds that a process has worked; always 0 where there is no /proc to say it."""
    told = Path(f"/proc/{process}/schedstat")
    if not told.exists():
        return lambda: 0.0
    return lambda: int(told.read_text().split()[0]) / 1_000_000
