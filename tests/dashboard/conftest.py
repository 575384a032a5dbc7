"""A dashboard that is served over real HTTP in the test's own loop, on a database of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from shared.settings import Settings
from tests.dashboard import world as made
from tests.dashboard.sites import KEY, Site, alone_at
from tests.dashboard.world import World

Serve = Callable[..., AbstractAsyncContextManager[Site]]


@pytest.fixture
async def world(connection: asyncpg.Connection) -> World:
    return await made.build(connection)


@pytest.fixture
def serve(database_url: str, tmp_path: Path) -> Serve:
    """Serves the dashboard alone; `api_key` and other settings by name."""

    def served(**settings: Any) -> AbstractAsyncContextManager[Site]:
        return alone_at(database_url, Settings(database_url=database_url, data_dir=tmp_path, **settings))

    return served


@pytest.fixture
async def site(serve: Serve) -> AsyncIterator[Site]:
    """Without a key: open to this machine as the tenant `local`."""
    async with serve() as site:
        yield site


@pytest.fixture
async def guarded(serve: Serve) -> AsyncIterator[Site]:
    """With a key that nobody has given yet."""
    async with serve(api_key=KEY) as site:
        yield site
