"""A table of any PostgreSQL, written as the JSON Lines that any system can be written as."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import asyncpg

from ops.files import FileRefused, naming
from ops.moving.formats.generic import FIELDS
from shared.database import connected
from shared.errors import BackendBusy, BackendUnavailable

SCHEMES = ("postgres://", "postgresql://")

_TOLD_MAX = 20
_AT_ONCE = 1_000

_FOUND = "SELECT to_regclass($1)::oid"
_NAMES = """
SELECT format('%I.%I', schemaname, tablename) FROM pg_catalog.pg_tables
WHERE schemaname NOT IN ('pg_catalog', 'information_schema', 'memhub')
ORDER BY 1
"""
_COLUMNS = """
SELECT attname FROM pg_catalog.pg_attribute
WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped
ORDER BY attnum
"""
# In the order of their ids, so that a line that is told by its number is the same line in the next run.
_ROWS = """
SELECT format(
    'SELECT jsonb_strip_nulls(jsonb_build_object(%s))::text FROM %s AS told%s',
    (SELECT string_agg(format('%L, told.%I', field, own), ', ') FROM unnest($2::text[], $3::text[]) AS f (field, own)),
    $1::oid::regclass,
    ' ORDER BY told.' || quote_ident($4::text))
"""


@dataclass(frozen=True, slots=True)
class Table:
    """One at `url`, of which `columns` gives a field of the JSON Lines the name of its column; else they are alike."""

    url: str
    name: str | None
    columns: Mapping[str, str]


async def write(table: Table, path: Path, *, timeout_s: float) -> None:
    """Every row a line, as of one instant. Raises FileRefused."""
    try:
        async with (
            connected(table.url, work="read", timeout_s=timeout_s) as connection,
            connection.transaction(isolation="repeatable_read", readonly=True),
        ):
            await _write(connection, table, path)
    except (BackendBusy, BackendUnavailable) as refused:
        raise FileRefused(f"{_told(table.url)}: {refused.message}", next="Check the URL.") from None


async def _write(connection: asyncpg.Connection, table: Table, path: Path) -> None:
    try:
        statement = await _statement(connection, table)
        with naming(path), path.open("wb") as file:
            async for (line,) in connection.cursor(statement, prefetch=_AT_ONCE):
                file.write(line.encode() + b"\n")
    except asyncpg.PostgresError as refused:
        raise FileRefused(
            f"{table.name}: {refused}.", next="Give a role that may read it, or a view that can be read."
        ) from None


async def _statement(connection: asyncpg.Connection, table: Table) -> str:
    found = None if table.name is None else await connection.fetchval(_FOUND, table.name)
    if found is None:
        names = [name for (name,) in await connection.fetch(_NAMES)]
        missing = "which table holds the memories was not named" if table.name is None else f"no table {table.name}"
        raise FileRefused(f"{_told(table.url)}: {missing}.", next=f"Give --table: {_listed(names)}.")
    own = [name for (name,) in await connection.fetch(_COLUMNS, found)]
    columns = {field: field for field in sorted(FIELDS) if field in own} | dict(table.columns)
    if "content" not in columns or (unknown := sorted(set(columns.values()) - set(own))):
        missing = "no column content" if "content" not in columns else f"no column {', '.join(unknown)}"
        raise FileRefused(
            f"{table.name}: {missing}.", next=f"Name them, such as --column content={own[0]}: {_listed(own)}."
        )
    statement: str = await connection.fetchval(_ROWS, found, [*columns], [*columns.values()], columns.get("id"))
    return statement


def _listed(names: list[str]) -> str:
    told = ", ".join(names[:_TOLD_MAX])
    return f"{told} and {len(names) - _TOLD_MAX} more" if len(names) > _TOLD_MAX else told or "there is none"


def _told(url: str) -> str:
    """The database without a password."""
    parts = urlsplit(url)
    return f"{unquote(parts.hostname or 'localhost')}{parts.path}"
