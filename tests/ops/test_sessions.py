"""Which way the commands of people take to the database."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path

import asyncpg
import pytest

from ops.looking import looking
from ops.operating import operating
from shared.settings import Settings

POOLER_AWAY = "postgresql://nobody@127.0.0.1:1/none"

Session = Callable[[Settings], AbstractAsyncContextManager[asyncpg.Connection]]


@pytest.mark.parametrize(
    ("session", "role"), [(looking, "memhub_server"), (partial(operating, again=""), "memhub_operator")]
)
async def test_a_role_is_never_set_through_a_pooler(
    session: Session, role: str, database_url: str, tmp_path: Path
) -> None:
    """Fails when a session goes by `database_url`: the role would stay with a connection that others are lent."""
    pooled = Settings(database_url=POOLER_AWAY, database_direct_url=database_url, data_dir=tmp_path)
    async with session(pooled) as connection:
        assert await connection.fetchval("SELECT current_user") == role
