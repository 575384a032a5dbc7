"""Owes vectors to the live memories that lack them: written before a model was known, or while one is built."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from uuid import UUID

import asyncpg

from shared import statements

PAGE_ROWS = 1000

_OWE = statements.load("embedding")["owe"]
_FIRST = UUID(int=0)

Connect = Callable[[], AbstractAsyncContextManager[asyncpg.Connection]]


async def owe(connect: Connect) -> int:
    """The rows of work that were added, for the current model and one that is built; commits a page at a time."""
    owed = 0
    after = (_FIRST, _FIRST)
    while True:
        async with connect() as connection:
            page = await connection.fetchrow(_OWE, *after, PAGE_ROWS)
        if page is None:
            return owed
        after = (page["project_id"], page["memory_id"])
        owed += page["owed"]
