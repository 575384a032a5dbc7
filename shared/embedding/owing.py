"""Owes vectors to what lacks them: what was written before a model was known, or while one is built; then the past."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any
from uuid import UUID

import asyncpg

from shared import statements

PAGE_ROWS = 1000

PAST_ROWS_MAX = 5_000
"""Of the past at a time: a minute of the packaged model, which what is written meanwhile shares with it."""

_SQL = statements.load("embedding")
_SIZES = _SQL["sizes"]
_OWE = _SQL["owe"]
_OWE_PAST = _SQL["owe_past"]
_IN_HAND = _SQL["in_hand"]
_FIRST = UUID(int=0)

Connect = Callable[[], AbstractAsyncContextManager[asyncpg.Connection]]


async def owe(connect: Connect) -> int:
    """The rows of work that were added, for the current model and one that is built; commits a page at a time."""
    pages_max = _pages((await _row(connect, _SIZES))["live"])
    owed = 0
    after = (_FIRST, _FIRST)
    for _ in range(pages_max):
        page = await _row(connect, _OWE, *after, PAGE_ROWS)
        if page is None:
            break
        after = (page["project_id"], page["memory_id"])
        owed += page["owed"]
    return owed


async def owe_past(connect: Connect, *, attempts_max: int) -> int:
    """Work for revisions that passed and lack vectors of the current model, when nothing else is to be done.

    At most PAST_ROWS_MAX and a page; commits a page at a time.
    """
    if (await _row(connect, _IN_HAND, attempts_max))["in_hand"]:
        return 0
    pages_max = _pages((await _row(connect, _SIZES))["revisions"])
    owed = 0
    after = (_FIRST, _FIRST, 0)
    for _ in range(pages_max):
        page = await _row(connect, _OWE_PAST, *after, PAGE_ROWS)
        if page is None or owed + page["owed"] >= PAST_ROWS_MAX:
            return owed + (page["owed"] if page else 0)
        after = (page["project_id"], page["memory_id"], page["revision_no"])
        owed += page["owed"]
    return owed


def _pages(rows: int) -> int:
    """As many as there were rows for at the start: what is written meanwhile owes its own vectors."""
    return rows // PAGE_ROWS + 1


async def _row(connect: Connect, statement: str, *arguments: Any) -> Any:
    async with connect() as connection:
        return await connection.fetchrow(statement, *arguments)
