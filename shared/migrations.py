"""The runner of migrations/NNNN_name.sql and the check that a database fits this program."""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from importlib import resources
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path

import asyncpg

from shared import requirements, statements
from shared.errors import BackendBusy, ConfigurationError, SchemaMismatch

LOCK_WAIT_S = 60

_SQL = statements.load("migrations")
_LOCK = _SQL["lock"]
_UNLOCK = _SQL["unlock"]
_IS_RECORDED = _SQL["is_recorded"]
_CREATE_SCHEMA = _SQL["create_schema"]
_CREATE_RECORD = _SQL["create_record"]
_RECORDED = _SQL["recorded"]
_RECORD = _SQL["record"]
_PIN_SEARCH_PATH = _SQL["pin_search_path"]
_PROCRASTINATE_STATE = _SQL["procrastinate_state"]

_LOCK_KEY = "memhub.schema_migrations"
_FILE_NAME = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")
_APPLY = re.compile(r"^-- apply: *(\S+) *$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Migration:
    """A file of this program; `checksum` is the sha256 of its text in hex."""

    version: int
    name: str
    checksum: str
    text: str


@dataclass(frozen=True, slots=True)
class AppliedMigration:
    """A row of memhub.schema_migrations."""

    version: int
    name: str
    checksum: str
    applied_at: datetime


@dataclass(frozen=True, slots=True)
class SchemaStatus:
    """`pending` makes the database behind, `unknown` ahead, `edited` neither: their files changed since."""

    applied: tuple[AppliedMigration, ...]
    pending: tuple[Migration, ...]
    unknown: tuple[AppliedMigration, ...]
    edited: tuple[AppliedMigration, ...]


async def migrate(
    connection: asyncpg.Connection, *, folder: Traversable | None = None, create_extension: bool = False
) -> list[Migration]:
    """Applies what is pending, each file in its own transaction, and returns it.

    Needs a connection of the schema's owner that reaches PostgreSQL itself, not a pooler: it takes a session
    advisory lock and waits up to LOCK_WAIT_S for it. Raises ConfigurationError where the server does not
    meet the requirements, SchemaMismatch where it is ahead or a file was edited, BackendBusy when
    another runner holds the lock.
    """
    await requirements.check(connection, create_extension=create_extension)
    async with _locked(connection):
        found = await status(connection, folder=folder)
        refuse_strangers(found)
        with requirements.privileges():
            if not found.applied:
                await connection.execute(_CREATE_SCHEMA)
                await connection.execute(_CREATE_RECORD)
            for migration in found.pending:
                await _apply(connection, migration)
    return list(found.pending)


async def verify(connection: asyncpg.Connection, *, folder: Traversable | None = None) -> None:
    """Returns when the database is exactly at this program's schema, else raises.

    Reads only. Raises SchemaMismatch (behind, ahead or edited), ConfigurationError as `migrate` does.
    """
    await requirements.check(connection)
    found = await status(connection, folder=folder)
    refuse_strangers(found)
    if found.pending:
        first = found.pending[0]
        raise SchemaMismatch(
            f"The database is behind this program by {len(found.pending)} migrations, "
            f"the first is {first.version:04d}_{first.name}.",
            next="Run `memhub migrate`.",
        )


async def status(connection: asyncpg.Connection, *, folder: Traversable | None = None) -> SchemaStatus:
    """What the database has and what this program has; reads only, also on an empty database."""
    rows = await connection.fetch(_RECORDED) if await connection.fetchval(_IS_RECORDED) else []
    applied = tuple(AppliedMigration(**row) for row in rows)
    known = {migration.version: migration for migration in read(folder)}
    return SchemaStatus(
        applied=applied,
        pending=tuple(known[version] for version in sorted(known.keys() - {row.version for row in applied})),
        unknown=tuple(row for row in applied if row.version not in known),
        edited=tuple(row for row in applied if row.version in known and row.checksum != known[row.version].checksum),
    )


def read(folder: Traversable | None = None) -> list[Migration]:
    """The files of `folder` (default: the package migrations) in order; a gap or a twin raises ValueError."""
    files = [file for file in (folder or resources.files("migrations")).iterdir() if file.name.endswith(".sql")]
    migrations = [_read_file(file) for file in sorted(files, key=lambda file: file.name)]
    if [migration.version for migration in migrations] != list(range(1, len(migrations) + 1)):
        raise ValueError(f"migrations are not numbered from 1 without gaps: {[m.version for m in migrations]}")
    return migrations


def _read_file(file: Traversable) -> Migration:
    named = _FILE_NAME.fullmatch(file.name)
    if named is None:
        raise ValueError(f"{file.name}: a migration is named NNNN_name.sql")
    text = file.read_bytes()
    return Migration(
        version=int(named[1]),
        name=named[2],
        checksum=hashlib.sha256(text).hexdigest(),
        text=text.decode("utf-8"),
    )


@asynccontextmanager
async def _locked(connection: asyncpg.Connection) -> AsyncIterator[None]:
    try:
        await connection.execute(_LOCK, _LOCK_KEY, timeout=LOCK_WAIT_S)
    except TimeoutError:
        raise BackendBusy(
            f"Another process has been migrating this database for {LOCK_WAIT_S} s.",
            next="Run `memhub migrate` again when it has ended.",
        ) from None
    try:
        yield
    finally:
        if not connection.is_closed():
            await connection.execute(_UNLOCK, _LOCK_KEY)


def refuse_strangers(found: SchemaStatus) -> None:
    """Raises SchemaMismatch where it was not this program, or an earlier one, that migrated the database."""
    if found.unknown:
        last = found.unknown[-1]
        raise SchemaMismatch(
            f"The database is ahead of this program: it has migration {last.version:04d}_{last.name}.",
            next="Upgrade memhub to the version that ran `memhub migrate` on this database.",
        )
    if found.edited:
        first = found.edited[0]
        raise SchemaMismatch(
            f"Migration {first.version:04d}_{first.name} was applied with another text than its file has.",
            next="Install the memhub that ran `memhub migrate` on this database, or use another database.",
        )


async def _apply(connection: asyncpg.Connection, migration: Migration) -> None:
    async with connection.transaction():
        await _record(connection, migration)
        await connection.fetchval(_PIN_SEARCH_PATH)
        before, *marked = _APPLY.split(migration.text)
        await _run(connection, before)
        for package, after in zip(marked[::2], marked[1::2], strict=True):
            if package != "procrastinate":
                raise ValueError(f"{migration.version:04d}_{migration.name}.sql applies an unknown {package}")
            await _apply_procrastinate(connection)
            await _run(connection, after)


async def _run(connection: asyncpg.Connection, text: str) -> None:
    # asyncpg raises AttributeError for a text that holds no statement.
    if statements.without_comments(text):
        await connection.execute(text)


async def _record(connection: asyncpg.Connection, migration: Migration) -> None:
    try:
        await connection.execute(_RECORD, migration.version, migration.name, migration.checksum)
    except asyncpg.UniqueViolationError:
        raise BackendBusy(
            "Another process migrated this database at the same time, past the lock.",
            next="Run `memhub migrate` again, on a direct connection and not through a pooler.",
        ) from None


async def _apply_procrastinate(connection: asyncpg.Connection) -> None:
    state = await connection.fetchrow(_PROCRASTINATE_STATE)
    assert state is not None
    if not state["present"]:
        await connection.execute(procrastinate_schema())
    elif not state["usable"]:
        raise ConfigurationError(
            "The schema public holds another version of procrastinate, used by another program.",
            next="Give memhub a database of its own, or bring that procrastinate to 3.10 by its migrations.",
        )


def procrastinate_schema() -> str:
    """The schema of the pinned procrastinate, read without importing it."""
    # find_spec of a top-level name imports nothing: a server migrates too and never imports procrastinate.
    package = find_spec("procrastinate")
    assert package is not None
    assert package.submodule_search_locations
    return Path(package.submodule_search_locations[0], "sql", "schema.sql").read_text(encoding="utf-8")
