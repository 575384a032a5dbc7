"""`memhub doctor`: what is wrong with this installation, and the command that mends it."""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import asdict

import asyncpg
from rich.table import Table
from rich.text import Text

from ops.absences import NO_DATABASE_NEXT, no_database
from ops.connecting.examining import findings as of_clients
from ops.connecting.places import Places
from ops.finding import Finding
from ops.fleet_findings import findings as of_fleet
from ops.operating import OPERATOR_ROLE
from ops.reaching import reached
from ops.terminal import Terminal
from ops.texts import shown
from ops.words import counted
from shared import checker, migrations, requirements, statements
from shared.database import SERVER_ROLE, connected
from shared.embedded import folder
from shared.errors import BackendUnavailable, MemhubError
from shared.fleet import is_worker_alive
from shared.settings import Settings, named, unknown

DISK_FREE_BYTES_MIN = 500 * 2**20
VIOLATIONS_SHOWN = 5

_FROM_THE_FUTURE = "nothing_is_from_the_future"
_CLOCK_BEHIND = (
    "The clock of the database's machine was set back, or stood ahead when this was written: set it right, or wait "
    "until it has caught up. Until then these memories can be found and not changed."
)
_PAST_THE_SCHEMA = "Someone wrote past the schema: restore a backup from before that, and report it."
_DOCTOR = "`memhub doctor`"
_UNREACHABLE = "Start PostgreSQL, or correct MEMHUB_DATABASE_URL: host, port, name and password."

_SQL = statements.load("doctor")
_ROLES = _SQL["roles"]
_NOTIFYING = _SQL["notifying"]
_DURABILITY = _SQL["durability"]


async def examine(settings: Settings, *, as_json: bool) -> int:
    """Prints what was found; 0 when all is well, else 1."""
    findings = [finding async for finding in _findings(settings)]
    if as_json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        _print(findings)
    return 0 if all(finding.well for finding in findings) else 1


async def _findings(settings: Settings) -> AsyncIterator[Finding]:
    yield _mode(settings)
    if names := unknown():
        yield Finding("variables", False, f"no such setting: {', '.join(named(names))}", "Correct or unset them.")
    for of_client in _clients():
        yield of_client
    try:
        if settings.database_url is None:
            yield _disk(settings)
            if not folder.locate(settings.data_dir).is_made:
                yield _absent(settings)
                return
        async with _connected(settings) as connection:
            async for finding in _of_database(connection, settings):
                yield finding
    except MemhubError as refused:
        # The advice that callers get leads here.
        next = _UNREACHABLE if isinstance(refused, BackendUnavailable) and _DOCTOR in refused.next else refused.next
        yield Finding("database", False, refused.message, next)


async def _of_database(connection: asyncpg.Connection, settings: Settings) -> AsyncIterator[Finding]:
    await requirements.check(connection)
    version = connection.get_settings().server_version.split()[0]
    yield Finding("database", True, f"PostgreSQL {version} answers")
    try:
        await migrations.verify(connection)
    except MemhubError as refused:
        yield Finding("schema", False, refused.message, refused.next)
        return
    yield Finding("schema", True, "at the schema of this program")
    yield await _roles(connection)
    yield await _notifying(connection)
    yield await _durability(connection)
    for finding in await of_fleet(connection, settings):
        yield finding
    yield await _invariants(connection)


def _clients() -> list[Finding]:
    try:
        places = Places.of_user()
    except RuntimeError:
        # A user without a home, as in a container, has no client either.
        return []
    return of_clients(places)


def _mode(settings: Settings) -> Finding:
    if settings.database_url is None:
        return Finding("settings", True, f"embedded database under {settings.data_dir}")
    return Finding("settings", True, "the database of MEMHUB_DATABASE_URL")


def _absent(settings: Settings) -> Finding:
    """No database is well before the first use; beside a worker it was there, and was deleted or moved."""
    if not is_worker_alive(settings.data_dir):
        return Finding("database", True, no_database(settings), NO_DATABASE_NEXT)
    return Finding(
        "database",
        False,
        f"There is none in {settings.data_dir}, where a worker runs: it was deleted or moved",
        "Move it back, or bring a backup there: memhub restore FILE",
    )


def _disk(settings: Settings) -> Finding:
    with folder.naming(settings.data_dir):
        place = next(place for place in (settings.data_dir, *settings.data_dir.parents) if place.exists())
        free = shutil.disk_usage(place).free
    detail = f"{free / 2**30:.1f} GiB free at {place}"
    if free >= DISK_FREE_BYTES_MIN:
        return Finding("disk", True, detail)
    return Finding("disk", False, detail, "Free disk there, or move the data: set MEMHUB_DATA_DIR.")


async def _roles(connection: asyncpg.Connection) -> Finding:
    usable = {row["role"] for row in await connection.fetch(_ROLES) if row["usable"]}
    if SERVER_ROLE in usable:
        told = f"servers act as {SERVER_ROLE}, which cannot rewrite history"
        # Of no server: what may purge is not for who serves strangers.
        commands = "import, export, purge, token, project untie and rename"
        apart = f"; {commands} act as {OPERATOR_ROLE}: give them the owner's URL"
        return Finding("roles", True, told if OPERATOR_ROLE in usable else told + apart)
    if OPERATOR_ROLE in usable:
        return Finding(
            "roles",
            False,
            f"commands act as {OPERATOR_ROLE}, and no server can start with this URL",
            f"Give servers and workers the URL of a member of {SERVER_ROLE}.",
        )
    return Finding(
        "roles",
        False,
        f"the connecting role can act neither as {SERVER_ROLE} nor as {OPERATOR_ROLE}",
        f"As an administrator: GRANT {SERVER_ROLE} TO the connecting role, for servers and workers. Commands such as "
        "purge take the owner's URL.",
    )


async def _notifying(connection: asyncpg.Connection) -> Finding:
    if not await connection.fetchval(_NOTIFYING):
        return Finding("outbox", True, "writes do not notify inside their transaction")
    return Finding(
        "outbox",
        False,
        "procrastinate notifies inside every write, which serialises all commits",
        "ALTER TABLE procrastinate_jobs DISABLE TRIGGER procrastinate_jobs_notify_queue_job_inserted_v1;",
    )


async def _durability(connection: asyncpg.Connection) -> Finding:
    loose = [row["name"] for row in await connection.fetch(_DURABILITY)]
    if not loose:
        return Finding("durability", True, "a commit survives a crash")
    return Finding(
        "durability", False, f"switched off: {', '.join(loose)}", "Switch them on in postgresql.conf and reload."
    )


async def _invariants(connection: asyncpg.Connection) -> Finding:
    violations = await checker.check(connection)
    if not violations:
        return Finding("invariants", True, "all hold")
    told = "; ".join(f"{violation.name}: {violation.detail}" for violation in violations[:VIOLATIONS_SHOWN])
    return Finding(
        "invariants",
        False,
        f"{counted(len(violations), 'violation')}, first: {told}",
        _CLOCK_BEHIND if {violation.name for violation in violations} == {_FROM_THE_FUTURE} else _PAST_THE_SCHEMA,
    )


@asynccontextmanager
async def _connected(settings: Settings) -> AsyncIterator[asyncpg.Connection]:
    with ExitStack() as lease:
        dsn = await reached(settings, lease)
        async with connected(dsn, work="read", timeout_s=settings.connect_timeout_s) as connection:
            yield connection


def _print(findings: list[Finding]) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    for finding in findings:
        mark = Text("ok", "green") if finding.well else Text("wrong", "red")
        table.add_row(mark, finding.name, finding.detail)
        if finding.mend:
            table.add_row("", "", Text(shown(finding.mend), "bold"))
    Terminal().print(table)
