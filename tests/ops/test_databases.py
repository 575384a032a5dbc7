"""Databases that other memory servers themselves wrote (tests/ops/foreign), imported by their URL alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import asyncpg
import pytest

from ops.files import FileRefused
from ops.importing import Wish, import_
from ops.moving.detection import Format
from ops.moving.tables import Table
from shared import checker, limits
from shared.settings import Settings

FOREIGN = Path(__file__).with_name("foreign")

# Compared on both sides: what the first memhub said, and what became of it here.
SAID_THERE = """
SELECT memory_id, revision_no, content, tags, author_kind, left(change_reason, 100), left(source, 100),
       max(created_at) OVER (PARTITION BY memory_id ORDER BY revision_no)
FROM memory_revisions WHERE octet_length(content) <= $1"""
SAID_HERE = """
SELECT memory_id, revision_no, content, tags, author_kind, left(reason, 100), left(source, 100), valid_from
FROM memhub.memory_revisions"""
STANDS_THERE = """
SELECT memory.id, slug, type, status, importance, expires_at, superseded_by_id,
       CASE WHEN status <> 'ACTIVE' THEN greatest(superseded_at, deleted_at, last) END
FROM memories AS memory JOIN projects AS project ON project.id = project_id
JOIN (SELECT memory_id, max(created_at) AS last FROM memory_revisions GROUP BY memory_id) AS said
    ON said.memory_id = memory.id"""
# Of two transactions that waited for each other the later one bears the earlier time.
BACKWARDS = """
UPDATE memory_revisions SET created_at = created_at - interval '1 minute' WHERE revision_no > 1;
UPDATE memories SET superseded_at = superseded_at - interval '1 hour', deleted_at = deleted_at - interval '1 hour'"""
STANDS_HERE = """
SELECT memory.id, slug, type, status, importance, expires_at, superseded_by, retired_at
FROM memhub.memories AS memory JOIN memhub.projects AS project ON project.id = project_id
JOIN memhub.memory_revisions AS said ON said.memory_id = memory.id AND said.revision_no = memory.revision_no"""
EVENTS_HERE = "SELECT event, count(*) FROM memhub.audit_events WHERE event <> 'imported' GROUP BY event"


@pytest.fixture
async def theirs(connection: asyncpg.Connection, other_url: str) -> asyncpg.Connection:
    opened = await asyncpg.connect(other_url)
    yield opened
    await opened.close()


async def written(theirs: asyncpg.Connection, dump: str) -> None:
    await theirs.execute((FOREIGN / dump).read_bytes().decode())


async def brought(settings: Settings, url: str, **wishes: Any) -> int:
    wish = {"format": None, "project": None, "dry_run": False, "accept_sensitive": False} | wishes
    return await import_(settings, Wish(source=Table(url, None, {}), **wish))


async def rows(connection: asyncpg.Connection, statement: str, *arguments: Any) -> set[tuple[Any, ...]]:
    found = await connection.fetch(statement, *arguments)
    return {tuple(tuple(value) if isinstance(value, list) else value for value in row) for row in found}


@pytest.mark.parametrize("change", ["SELECT 1", BACKWARDS], ids=["as written", "backwards"])
async def test_the_first_memhub_comes_as_it_was(
    settings: Settings,
    connection: asyncpg.Connection,
    theirs: asyncpg.Connection,
    other_url: str,
    capsys: pytest.CaptureFixture[str],
    change: str,
) -> None:
    # Fails when a statement of `databases` leaves a revision, an end or a successor out. Two of its contents are longer
    # than ours may be, and two of its memories say what a third says: those come superseded by it.
    await written(theirs, "first-memhub.sql")
    await theirs.execute(change)

    assert await brought(settings, other_url.replace("postgresql://", "postgresql+asyncpg://")) == 1

    told = capsys.readouterr()
    assert "52 imported, 2 said already by a live memory, 2 projects made, 2 could not be read" in told.out
    assert told.err.count("its content has more than 32,000 bytes") == 2
    assert await rows(connection, SAID_HERE) == await rows(theirs, SAID_THERE, limits.CONTENT_BYTES_MAX)
    stands_here, stands_there = await rows(connection, STANDS_HERE), await rows(theirs, STANDS_THERE)
    differing = sorted(row[3] for row in stands_here - stands_there)
    assert (len(stands_here & stands_there), differing) == (52, ["SUPERSEDED", "SUPERSEDED"])
    assert await rows(connection, EVENTS_HERE) == {
        ("remembered", 54), ("attested", 10), ("revised", 9), ("superseded", 12), ("forgotten", 4), ("purged", 2),
    }  # fmt: skip
    assert await checker.check(connection) == []


async def test_the_first_memhub_again_brings_what_went_on_there(
    settings: Settings,
    connection: asyncpg.Connection,
    theirs: asyncpg.Connection,
    other_url: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # Fails when the end of a revision is not that of the transaction which wrote the next.
    await written(theirs, "first-memhub.sql")
    await brought(settings, other_url)
    (memory_id,) = await theirs.fetchrow("SELECT id FROM memories WHERE status = 'ACTIVE' AND current_revision_no = 3")
    await theirs.execute(
        """
        WITH next AS (UPDATE memories SET current_revision_no = 4, updated_at = now() WHERE id = $1 RETURNING *)
        INSERT INTO memory_revisions SELECT id, 4, project_id, 'It went on.', '', 1, '{}', true, NULL, NULL, 'cursor',
            'agent', now() FROM next""",
        memory_id,
    )
    capsys.readouterr()

    await brought(settings, other_url)

    assert "1 there already, and went on as it is told" in capsys.readouterr().out
    heads = "SELECT content FROM memhub.live_memories JOIN memhub.memory_revisions USING (memory_id, revision_no)"
    assert ("It went on.",) in await rows(connection, f"{heads} WHERE memory_id = $1", memory_id)
    assert await checker.check(connection) == []


@pytest.mark.parametrize(
    ("dump", "wishes", "told"),
    [
        ("first-memhub.sql", {"origin": "shop.backend_2"}, "--from: nothing of memhub tells where it belongs"),
        ("first-memhub.sql", {"format": Format.MEMORY_MCP}, "it is a database of memhub. Give --format memhub"),
    ],
)
async def test_what_does_not_fit_the_database_is_told(
    settings: Settings, theirs: asyncpg.Connection, other_url: str, dump: str, wishes: dict[str, Any], told: str
) -> None:
    await written(theirs, dump)

    with pytest.raises(FileRefused) as refused:
        await brought(settings, other_url, project="moving", **wishes)

    assert told in refused.value.line
