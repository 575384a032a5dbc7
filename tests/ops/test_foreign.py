"""What other memory servers themselves wrote (tests/ops/foreign), imported."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import asyncpg
import pytest

from ops.moving.detection import Format, detect
from shared import checker
from shared.settings import Settings
from tests.ops.test_round_trip import bring

FOREIGN = Path(__file__).with_name("foreign")

SAID = """
SELECT content, status, type, tags, expires_at IS NOT NULL AS expires
FROM memhub.memories AS memory JOIN memhub.memory_revisions AS revision
    ON revision.project_id = memory.project_id AND revision.memory_id = memory.id
ORDER BY content"""

SERVICE = [
    ("Deploys go out on Thursdays.", "ACTIVE", "FACT", [], False),
    ("The queue runs on PostgreSQL.", "ACTIVE", "DECISION", ["queue", "infra"], False),
    ("The queue runs on RabbitMQ.", "SUPERSEDED", "DECISION", ["queue"], False),
    ("The queue runs on Redis.", "ACTIVE", "DECISION", ["queue"], False),
]
MEM0 = [
    ("The certificate is renewed by hand.", "ACTIVE", "FACT", ["user:ana"], True),
    ("The queue runs on PostgreSQL.", "ACTIVE", "DECISION", ["user:ana"], False),
]
GRAPH = [
    ("Ana (person): Prefers “small” commits ☃", "ACTIVE", "FACT", ["Ana"], False),
    ("Ana owns Billing_Service", "ACTIVE", "FACT", ["Ana", "Billing_Service"], False),
    ("Billing_Service (service): Deploys on Thursdays", "ACTIVE", "FACT", ["Billing_Service"], False),
    ("Billing_Service (service): Runs on PostgreSQL 18", "ACTIVE", "FACT", ["Billing_Service"], False),
]
HISTORY: list[tuple[object, ...]] = [
    ("Deploys go out on Tuesdays.", "ACTIVE", "FACT", [], False),
    ("Lunch is at noon.", "DELETED", "FACT", [], False),
    ("The certificate is renewed by hand.", "ACTIVE", "FACT", [], False),
    ("The queue runs on PostgreSQL.", "ACTIVE", "FACT", [], False),
    ("The queue runs on RabbitMQ.", "SUPERSEDED", "FACT", [], False),
]
POINTS = sorted([*MEM0, ("Deploys go out on Tuesdays.", "ACTIVE", "FACT", ["agent:reviewer", "run:run-7"], False)])


def database(folder: Path, dump: str) -> Path:
    path = folder / "its.db"
    with closing(sqlite3.connect(path)) as opened:
        opened.executescript((FOREIGN / dump).read_text())
    return path


@pytest.mark.parametrize("rows_a_batch", [1, 1_000])
@pytest.mark.parametrize(
    ("name", "form", "said"),
    [
        ("server-memory.jsonl", Format.SERVER_MEMORY, GRAPH),
        ("server-memory-graph.json", Format.SERVER_MEMORY, GRAPH),
        ("mcp-memory-service.json", Format.MCP_MEMORY_SERVICE, SERVICE),
        ("mcp-memory-service.sql", Format.MCP_MEMORY_SERVICE, SERVICE),
        ("mem0-get-all.json", Format.MEM0, MEM0),
        ("mem0-points.json", Format.MEM0, POINTS),
        ("mem0-history.sql", Format.MEM0, HISTORY),
    ],
)
async def test_what_the_program_wrote_comes_as_it_was(
    settings: Settings,
    connection: asyncpg.Connection,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    form: Format,
    said: list[tuple[object, ...]],
    rows_a_batch: int,
) -> None:
    # Fails when what was superseded there comes as ACTIVE: without `superseded_by` of the format's entries.
    monkeypatch.setattr("ops.moving.batches.BATCH_ROWS", rows_a_batch)
    path = database(tmp_path, name) if name.endswith(".sql") else FOREIGN / name

    assert detect(path) is form
    assert await bring(settings, path, project="foreign") == 0
    assert [tuple(row) for row in await connection.fetch(SAID)] == said
    assert await checker.check(connection) == []

    assert await bring(settings, path, project="foreign") == 0
    assert [tuple(row) for row in await connection.fetch(SAID)] == said


async def test_a_document_is_read_again_for_what_its_successor_comes_behind(
    settings: Settings, connection: asyncpg.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Fails when `again` of Source takes every place for the number of a line.
    monkeypatch.setattr("ops.moving.batches.BATCH_ROWS", 1)
    told = ", ".join(
        f'{{"content": "Version {number}.", "content_hash": "{number}", "superseded_by": "{number + 1}"}}'
        for number in range(3)
    )
    (tmp_path / "old-first.json").write_text(f'[{told}, {{"content": "Version 3.", "content_hash": "3"}}]')

    assert await bring(settings, tmp_path / "old-first.json", project="foreign") == 0
    rows = await connection.fetch(SAID)
    assert [row["status"] for row in rows] == ["SUPERSEDED", "SUPERSEDED", "SUPERSEDED", "ACTIVE"]


async def test_the_history_of_mem0_and_its_get_all_are_one(
    settings: Settings, connection: asyncpg.Connection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Fails when the last version of a memory does not keep the memory's id as its key.
    await bring(settings, FOREIGN / "mem0-points.json", project="foreign")
    await bring(settings, database(tmp_path, "mem0-history.sql"), project="foreign")

    assert "2 imported, 3 there already" in capsys.readouterr().out
    assert await checker.check(connection) == []
