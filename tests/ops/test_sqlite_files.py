"""SQLite files of others: what is made to never end, and what lies where this user may not write."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from ops.files import FileRefused
from ops.moving import sqlite_files
from ops.moving.batches import batches
from ops.moving.detection import Format, detect
from ops.moving.entries import Context
from ops.moving.lives import Place, Problem
from ops.moving.sources import Source

ROOT = Path(__file__).parents[2]
ENDLESS = "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT max(n) FROM c"


def made(path: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(path)) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()
    return path


@pytest.mark.parametrize("format", [Format.MCP_MEMORY_SERVICE, Format.MEM0])
def test_a_view_is_not_read(format: Format, tmp_path: Path) -> None:
    # Fails without type = 'table' in _TABLES, and without the look for the table in `rows`: both hang.
    path = made(
        tmp_path / "view.db",
        f"CREATE VIEW memories AS SELECT 'a' AS content, n AS content_hash FROM ({ENDLESS.replace('max(n)', 'n')})",
        "CREATE VIEW history AS SELECT * FROM memories ORDER BY content_hash",
    )
    with pytest.raises(FileRefused, match="without a table memories or history"):
        detect(path)
    context = Context(format=format, project_id=UUID(int=0), now=datetime.now(UTC))
    (told,) = Source(path, format, context, moved=True).items()
    table = "memories" if format is Format.MCP_MEMORY_SERVICE else "history"
    assert told == Problem(Place("view.db"), f"SQLite cannot read it: it has no table {table}")


def endless(database: sqlite3.Connection) -> Iterator[Any]:
    return iter(database.execute(ENDLESS))


async def test_a_stop_is_heard_while_a_statement_runs(tmp_path: Path) -> None:
    # Fails without the None of `rows`: its loop has no turn. Without the
    # progress handler the closing waits for ever, and without `_lazily` the first row is waited for.
    path = made(tmp_path / "memories.db", "CREATE TABLE memories (content TEXT)")
    found = sqlite_files.rows(path, "memories", endless, told="memories.db")
    reading = asyncio.ensure_future(anext(batches(found)))
    for _ in range(3):
        await asyncio.sleep(0)
    assert not reading.done()
    reading.cancel()
    await asyncio.wait({reading})
    found.close()  # type: ignore[attr-defined]


def test_every_row_comes_in_its_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_files, "ROWS_AT_ONCE", 3)
    path = made(tmp_path / "memories.db", "CREATE TABLE memories (n INTEGER)")
    made(path, *(f"INSERT INTO memories VALUES ({number})" for number in range(10)))
    found = sqlite_files.rows(path, "memories", lambda opened: iter(opened.execute("SELECT n FROM memories")), told="")
    assert [row for row in found if row is not None] == [(number,) for number in range(10)]


def test_what_a_file_calls_is_not_trusted(tmp_path: Path) -> None:
    # Fails without trusted_schema = OFF.
    path = made(tmp_path / "memories.db", "CREATE TABLE memories (content TEXT)")
    with sqlite_files.database(path, told="") as opened:
        assert opened.execute("PRAGMA trusted_schema").fetchone() == (0,)
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            opened.execute("DELETE FROM memories")


@pytest.mark.parametrize("journal", ["WAL", "DELETE"])
def test_a_lock_is_told_and_not_read_past(journal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Fails without _LOCKED, and with WAL where every failure leads to immutable=1, which reads past the lock.
    monkeypatch.setattr(sqlite_files, "LOCKED_S_MAX", 0.0)
    path = tmp_path / "memories.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.execute("PRAGMA locking_mode = EXCLUSIVE")
        holder.execute(f"PRAGMA journal_mode = {journal}")
        holder.execute("CREATE TABLE memories (content TEXT)")
        # An empty log is no part of the file that would be refused by itself.
        holder.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(FileRefused, match=r"it: another program has it locked\."):
            detect(path, told="it")
    assert detect(path) is Format.MCP_MEMORY_SERVICE


def test_what_sqlite_cannot_read_is_told_beside_a_log_too(tmp_path: Path) -> None:
    # Fails without _UNOPENED: the log was said to hold a part of it.
    path = made(tmp_path / "memories.db", "PRAGMA journal_mode = WAL", "CREATE TABLE memories (content TEXT)")
    with path.open("r+b") as file:
        # The format of its schema (https://www.sqlite.org/fileformat2.html#schema_format_number).
        file.seek(44)
        file.write(b"\0\0\0\5")
    (tmp_path / "memories.db-wal").write_bytes(b"no log")
    with pytest.raises(FileRefused, match="unsupported file format"):
        detect(path)


def test_a_name_of_no_text_is_read_over(tmp_path: Path) -> None:
    # Fails without the text factory in `_connection`: an error that has no code.
    path = made(tmp_path / "memories.db", "CREATE TABLE memories (content TEXT)", "CREATE TABLE zzzz (b)")
    path.write_bytes(path.read_bytes().replace(b"zzzz", b"zz\xffz"))
    assert detect(path) is Format.MCP_MEMORY_SERVICE


@pytest.fixture
def written_ahead(tmp_path: Path) -> Iterator[Path]:
    """A folder that this user may not write, with a file whose log is spent, and one whose log holds a row."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    with closing(sqlite3.connect(tmp_path / "memories.db")) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE memories (content TEXT)")
        database.execute("INSERT INTO memories VALUES ('a')")
        database.commit()
        for name in ("memories.db", "memories.db-wal"):
            shutil.copy(tmp_path / name, folder / name.replace("memories", "held"))
    shutil.copy(tmp_path / "memories.db", folder / "spent.db")
    if os.geteuid() == 0:
        shutil.chown(folder, "nobody")
    folder.chmod(0o555)
    yield folder
    folder.chmod(0o700)


_LOOK = """
import os, sys
from pathlib import Path
from ops.moving import sqlite_files
from tests import forkserver

if os.geteuid() == 0:
    forkserver._give_up_privilege()
path = Path(sys.argv[1])
select = "SELECT content FROM memories"
print([row for row in sqlite_files.rows(path, "memories", lambda o: iter(o.execute(select)), told="it") if row])
"""


@pytest.mark.parametrize(
    ("name", "out", "err"),
    [("spent.db", "[('a',)]\n", ""), ("held.db", "", "FileRefused: it: a part of it is in held.db-wal")],
)
def test_a_file_with_a_log_is_read_where_nobody_may_write_unless_the_log_holds_something(
    name: str, out: str, err: str, written_ahead: Path
) -> None:
    # Fails without immutable=1, and without the look at the log's size.
    ran = subprocess.run(
        [sys.executable, "-c", _LOOK, written_ahead / name], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ran.stdout == out, ran.stderr
    assert err in ran.stderr
