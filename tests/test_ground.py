"""The pools on a database whose folder is deleted under it, and on the one that comes to stand in its place."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path

import asyncpg
import pytest

from shared.database import Database, translated
from shared.embedded import folder
from shared.errors import BackendUnavailable, UnknownOutcome
from shared.settings import Settings


@pytest.fixture
def files(tmp_path: Path) -> Iterator[Path]:
    """A folder that is held open, as the sessions of a cluster hold theirs."""
    made = tmp_path / "postgres"
    made.mkdir()
    held = os.open(made, os.O_RDONLY)
    yield made
    os.close(held)


@pytest.fixture
async def database(database_url: str, files: Path, tmp_path: Path) -> AsyncIterator[Database]:
    settings = Settings(database_url=database_url, data_dir=tmp_path)
    opened = await Database.open(database_url, settings, application="tests", ground=partial(folder.identity, files))
    yield opened
    await opened.aclose()


async def test_a_write_whose_files_went_away_is_not_called_done(database: Database, files: Path) -> None:
    """Fails without the look behind the release in Database.connection."""
    with pytest.raises(UnknownOutcome):
        await _write_while_deleting(database, files)


async def test_nothing_begins_where_the_files_are_gone(database: Database, files: Path) -> None:
    """Fails without Database._stand."""
    async with database.connection("write") as connection:
        await connection.execute("SELECT 1")
    _delete(files)
    with pytest.raises(BackendUnavailable, match="files of the database are gone"):
        async with database.connection("read"):
            raise AssertionError("it was had")


async def test_other_files_in_their_place_get_sessions_of_their_own(database: Database, files: Path) -> None:
    """Fails without expire_connections in Database._stand."""
    async with database.connection("read") as connection:
        before = connection.get_server_pid()
    async with database.connection("read") as connection:
        assert connection.get_server_pid() == before
    _replace(files)
    async with database.connection("read") as connection:
        assert connection.get_server_pid() != before


def test_a_file_that_is_missing_below_a_session_is_told() -> None:
    """Fails without UndefinedFileError in database.translated: it was told as a bug."""
    with pytest.raises(BackendUnavailable, match="files of the database are gone"), translated("write"):
        raise asyncpg.UndefinedFileError("could not open file")


async def _write_while_deleting(database: Database, files: Path) -> None:
    async with database.connection("write") as connection:
        _delete(files)
        await connection.execute("SELECT 1")


def _delete(files: Path) -> None:
    files.rmdir()


def _replace(files: Path) -> None:
    files.rmdir()
    files.mkdir()
