"""A table of another memory server's database, as memories."""

from __future__ import annotations

import re
from collections.abc import Mapping

import asyncpg
import pytest

from ops.files import FileRefused
from ops.importing import Wish, import_
from ops.moving.detection import Format
from ops.moving.tables import Table
from shared import checker
from shared.settings import Settings
from tests.ops import memhub

THEIRS = """
CREATE SCHEMA theirs;
CREATE TABLE theirs."Notes" (
    id bigint PRIMARY KEY, "Body" text, tags text[], inserted_at timestamptz, gone_at timestamptz, next bigint);
INSERT INTO theirs."Notes" VALUES
    (1, 'Sessions live in Redis.', '{auth,redis}', '2026-01-01T00:00:00+01', NULL, 3),
    (2, 'The gateway is Kong.', '{}', '2026-02-01', '2026-03-01', NULL),
    (3, E'Sessions live\\nin a "signed" cookie \\\\ no cache.', '{auth}', '2026-04-01', NULL, NULL);
CREATE VIEW theirs.broken AS SELECT 1 / (id - 1) AS content FROM theirs."Notes"
"""
TABLE = 'theirs."Notes"'
COLUMNS = {"content": "Body", "created_at": "inserted_at", "retired_at": "gone_at", "superseded_by": "next"}

HEADS = """
SELECT status, content, tags, valid_from FROM memhub.memories AS memory
JOIN memhub.memory_revisions AS revision ON revision.memory_id = memory.id ORDER BY valid_from"""


@pytest.fixture
async def theirs(connection: asyncpg.Connection, other_url: str) -> str:
    other = await asyncpg.connect(other_url)
    await other.execute(THEIRS)
    await other.close()
    return other_url


async def brought(settings: Settings, url: str, table: str | None = TABLE, columns: Mapping[str, str] = COLUMNS) -> int:
    source = Table(url, table, columns)
    wish = Wish(source=source, format=Format.JSONL, project="moving", dry_run=False, accept_sensitive=False)
    return await import_(settings, wish)


async def test_its_rows_come_with_what_replaced_them_and_what_ended_them(
    settings: Settings, connection: asyncpg.Connection, theirs: str
) -> None:
    # Fails without `unnamed` in `_retired` of entries: what was deleted there is found here.
    assert await brought(settings, theirs) == 0

    heads = await connection.fetch(HEADS)
    assert [(row["status"], row["content"], row["tags"]) for row in heads] == [
        ("SUPERSEDED", "Sessions live in Redis.", ["auth", "redis"]),
        ("DELETED", "The gateway is Kong.", []),
        ("ACTIVE", 'Sessions live\nin a "signed" cookie \\ no cache.', ["auth"]),
    ]
    assert heads[0]["valid_from"].isoformat() == "2025-12-31T23:00:00+00:00"
    assert await checker.check(connection) == []


async def test_a_second_time_makes_no_double(
    settings: Settings, connection: asyncpg.Connection, theirs: str, capsys: pytest.CaptureFixture[str]
) -> None:
    await brought(settings, theirs)
    await brought(settings, theirs)

    assert "3 there already" in capsys.readouterr().out
    assert await connection.fetchval("SELECT count(*) FROM memhub.memories") == 3


@pytest.mark.parametrize(
    ("table", "columns", "told"),
    [
        (None, COLUMNS, f"which table holds the memories was not named. Give --table: .*{TABLE}"),
        ("theirs.notes", COLUMNS, f"no table theirs.notes. Give --table: .*{TABLE}"),
        (TABLE, {}, "no column content. Name them, such as --column content=id: id, Body, tags"),
        (TABLE, COLUMNS | {"category": "Kind"}, "no column Kind. Name them"),
        ("theirs.broken", {}, "theirs.broken: division by zero. "),
    ],
)
async def test_what_it_lacks_is_told_with_what_it_has(
    settings: Settings, theirs: str, table: str | None, columns: dict[str, str], told: str
) -> None:
    with pytest.raises(FileRefused) as refused:
        await brought(settings, theirs, table, columns)

    assert re.search(told, refused.value.line)


async def test_a_database_that_does_not_answer_is_told_without_its_password(settings: Settings) -> None:
    with pytest.raises(FileRefused) as refused:
        await brought(settings, "postgresql://me:hunter2@127.0.0.1:1/notes")

    assert refused.value.line.startswith("127.0.0.1/notes: The database cannot be reached: ")
    assert "hunter2" not in refused.value.line


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("notes.jsonl", "--table", "notes"), "--table"),
        (("postgresql:///x", "--format", "mem0"), "--format"),
        (("postgresql://[bad/db",), "it is no whole URL"),
        (("postgresql:///x", "--table", "t", "--column", "body=content"), "must be FIELD=COLUMN"),
        (("postgresql:///x", "--table", "t", "--column", "content"), "must be FIELD=COLUMN"),
    ],
)
def test_options_that_do_not_go_together_are_a_usage_error(arguments: tuple[str, ...], told: str) -> None:
    ran = memhub.run("import", *arguments)

    assert ran.returncode == 2
    assert told in ran.stderr
