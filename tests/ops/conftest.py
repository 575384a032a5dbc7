from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import asyncpg
import pytest

from shared.settings import Settings
from tests.database import Databases
from tests.memories.clients import TENANT, Client
from tests.ops import lively


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    return Settings(database_url=database_url, data_dir=tmp_path / "data", tenant=TENANT)


@pytest.fixture
async def speaker(server_connection: asyncpg.Connection) -> Client:
    return await lively.client(server_connection)


@pytest.fixture
def other_url(databases: Databases, template: str) -> Iterator[str]:
    """A second migrated database: what is moved goes there."""
    with databases.fresh(source=template) as url:
        yield url


@pytest.fixture
def other(other_url: str, tmp_path: Path) -> Settings:
    return Settings(database_url=other_url, data_dir=tmp_path / "data", tenant=TENANT)


@pytest.fixture
async def there(other_url: str) -> AsyncIterator[asyncpg.Connection]:
    """A session of the owner on the second database."""
    connection = await asyncpg.connect(other_url)
    yield connection
    await connection.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("a small tmpfs can be mounted by root alone")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)
