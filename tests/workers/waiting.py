"""Waits on rows of the database, bounded."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg

WAIT_S = 120.0
POLL_S = 0.02


async def until(connection: asyncpg.Connection, query: str, *arguments: Any, within_s: float = WAIT_S) -> None:
    """Returns when the query answers true; fails with its last answer when that takes too long."""
    deadline = asyncio.get_running_loop().time() + within_s
    while not (answer := await connection.fetchval(query, *arguments)):
        assert asyncio.get_running_loop().time() < deadline, f"{answer!r} for {within_s:g} s: {query}"
        await asyncio.sleep(POLL_S)


async def until_blocked(observer: asyncpg.Connection, count: int = 1) -> None:
    """Returns when that many sessions of this database wait for another's lock."""
    query = """SELECT count(*) >= $1 FROM pg_stat_activity
               WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0"""
    await until(observer, query, count)
