"""A large project, written by SQL: the services would take minutes for it."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import asyncpg

from shared.overview.views import PAGES
from shared.paging import Position

PROJECT = UUID("11111111-2222-4333-8444-555555555555")
_SQL = Path(__file__).with_name("many.sql")


async def fill(connection: asyncpg.Connection, *, memories: int, tenant: str = "local") -> None:
    """`memories` of all states in the tenant's new project `large`; needs the schema's owner."""
    text = _SQL.read_text(encoding="utf-8")
    for name, value in (("$1", str(memories)), ("$2", f"'{PROJECT}'::uuid"), ("$3", f"'{tenant}'::text")):
        text = text.replace(name, value)
    await connection.execute(text)


async def tokens(connection: asyncpg.Connection, count: int, *, tenant: str = "local") -> None:
    """Revoked ones, which nobody has the secret of: `token 1`, `token 2`, …"""
    await connection.execute(
        """INSERT INTO memhub.api_tokens (id, tenant, name, hash, read_only, revoked_at, created_at)
           SELECT gen_random_uuid(), $1, 'token ' || number, sha256(number::text::bytea), false,
                  clock_timestamp() + interval '1 min', clock_timestamp()
           FROM generate_series(1, $2::int) AS number""",
        tenant,
        count,
    )


def place(row: asyncpg.Record) -> str:
    """The address of the page after a row with `created_at` and `memory_id`."""
    return PAGES.encode(Position(at=row["created_at"], memory_id=row["memory_id"]))
