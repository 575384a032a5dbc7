"""A PostgreSQL of another memory server, written as lines that are imported: one that is known, or a table of any."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from urllib.parse import unquote, urlsplit

import asyncpg

from ops.files import FileRefused, naming
from ops.moving import databases
from ops.moving.databases import Known
from ops.moving.detection import Format
from ops.moving.formats.generic import FIELDS
from shared import statements
from shared.database import connected
from shared.errors import BackendBusy, BackendUnavailable

SCHEMES = ("postgres", "postgresql")

_TOLD_MAX = 20
_AT_ONCE = 1_000

_SQL = statements.parse("tables", (resources.files("ops.moving") / "tables.sql").read_text(encoding="utf-8"))
_FOUND = _SQL["found"]
_NAMES = _SQL["names"]
_ROWS = _SQL["rows"]


@dataclass(frozen=True, slots=True)
class Table:
    """One at `url`, of which `columns` gives a field of the JSON Lines the name of its column; else they are alike.

    `name` None: the tables of a program that is known.
    """

    url: str
    name: str | None
    columns: Mapping[str, str]


def is_url(source: str) -> bool:
    """True for the URL of a PostgreSQL, also in SQLAlchemy's spelling, which names a driver."""
    return source.partition("://")[0].partition("+")[0] in SCHEMES and "://" in source


def is_whole(url: str) -> bool:
    try:
        return bool(urlsplit(url).scheme)
    except ValueError:
        return False


async def write(table: Table, path: Path, *, tenant: str, timeout_s: float, bytes_max: int) -> Format:
    """Every row a line, as of one instant, and the form of the lines; projects that are named there come to `tenant`.

    Raises FileRefused, also for more than `bytes_max`.
    """
    scheme, _, rest = table.url.partition("://")
    try:
        async with (
            connected(f"{scheme.partition('+')[0]}://{rest}", work="read", timeout_s=timeout_s) as connection,
            connection.transaction(isolation="repeatable_read", readonly=True),
        ):
            program = None if table.name else await databases.known(connection)
            with naming(path), path.open("wb") as file:
                async for line in _lines(connection, table, program, tenant):
                    file.write(line)
                    if file.tell() > bytes_max:
                        raise FileRefused(
                            f"{told(table.url)}: it holds more than {bytes_max:,} bytes.", next="Give a view of a part."
                        )
            return Format.JSONL if program is None else program.format
    except (BackendBusy, BackendUnavailable) as refused:
        raise FileRefused(f"{told(table.url)}: {refused.message}", next="Check the URL.") from None


async def _lines(
    connection: asyncpg.Connection, table: Table, program: Known | None, tenant: str
) -> AsyncIterator[bytes]:
    try:
        if program is not None:
            async for line in databases.lines(connection, program, tenant=tenant):
                yield line
            return
        statement = await _statement(connection, table)
        async for (line,) in connection.cursor(statement, prefetch=_AT_ONCE):
            yield line.encode() + b"\n"
    except asyncpg.PostgresError as refused:
        what = program.program if program else table.name
        raise FileRefused(
            f"{what}: {refused}.", next="Give a role that may read it, or a view that can be read."
        ) from None


async def _statement(connection: asyncpg.Connection, table: Table) -> str:
    found = None if table.name is None else await connection.fetchval(_FOUND, table.name)
    if found is None:
        names = [name for (name,) in await connection.fetch(_NAMES)]
        missing = "which table holds the memories was not named" if table.name is None else f"no table {table.name}"
        raise FileRefused(f"{told(table.url)}: {missing}.", next=f"Give --table: {_listed(names)}.")
    own = await databases.columns(connection, table.name or "")
    columns = {field: field for field in sorted(FIELDS) if field in own} | dict(table.columns)
    if "content" not in columns or (unknown := sorted(set(columns.values()) - set(own))):
        missing = "no column content" if "content" not in columns else f"no column {', '.join(unknown)}"
        raise FileRefused(
            f"{table.name}: {missing}.", next=f"Name them, such as --column content={own[0]}: {_listed(own)}."
        )
    statement: str = await connection.fetchval(_ROWS, found, [*columns], [*columns.values()], columns.get("id"))
    return statement


def _listed(names: list[str]) -> str:
    listed = ", ".join(names[:_TOLD_MAX])
    return f"{listed} and {len(names) - _TOLD_MAX} more" if len(names) > _TOLD_MAX else listed or "there is none"


def told(url: str) -> str:
    """The database without a password."""
    parts = urlsplit(url)
    return f"{unquote(parts.hostname or 'localhost')}{parts.path}"
