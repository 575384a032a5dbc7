"""What other memory systems leave behind, and Markdown, as memories."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from ops.files import FileRefused
from ops.moving import documents, sources
from ops.moving.detection import Format, detect
from shared import checker
from shared.errors import ProjectRequired
from shared.settings import Settings
from tests.memories.clients import Client
from tests.ops import lively
from tests.ops.test_round_trip import bring

HEADS = """
SELECT content, type, category, tags, source, author_client, author_kind, valid_from, status
FROM memhub.memories AS memory JOIN memhub.memory_revisions AS revision
    ON revision.project_id = memory.project_id AND revision.memory_id = memory.id
    AND revision.revision_no = memory.revision_no
ORDER BY content"""

GRAPH: list[dict[str, Any]] = [
    {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["Prefers tea", "Leads billing"]},
    {"type": "entity", "name": "billing", "entityType": "service", "observations": []},
    {"type": "relation", "from": "Ada", "to": "billing", "relationType": "maintains"},
]

SERVICE = {
    "export_metadata": {"source_machine": "laptop", "total_memories": 2},
    "memories": [
        {
            "content": "The build needs Node 22.",
            "content_hash": "ab12",
            "tags": ["build", "node"],
            "created_at": 1767225600.5,
            "updated_at": 1767225600.5,
            "memory_type": "decision",
            "metadata": {},
        },
        {"content": "Logs go to Loki.", "content_hash": "cd34", "tags": "logs,ops", "created_at": 1767225601.0},
    ],
}

MEM0: dict[str, list[Any]] = {
    "results": [
        {
            "id": "0f8fad5b-d9cb-469f-a165-70867728950e",
            "memory": "Works at TechCorp",
            "hash": "x",
            "metadata": {"type": "professional"},
            "categories": ["work"],
            "created_at": "2026-01-01T00:00:00-08:00",
            "updated_at": None,
            "user_id": "dev",
        }
    ]
}


def lines(values: list[Any]) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


async def test_the_official_graph_becomes_a_memory_for_each_observation_and_relation(
    settings: Settings, connection: asyncpg.Connection, tmp_path: Path
) -> None:
    (tmp_path / "memory.jsonl").write_text(lines(GRAPH))

    assert await bring(settings, tmp_path / "memory.jsonl", project="graph") == 0

    rows = await connection.fetch(HEADS)
    assert [(row["content"], row["category"], row["tags"]) for row in rows] == [
        ("Ada (person): Leads billing", "person", ["Ada"]),
        ("Ada (person): Prefers tea", "person", ["Ada"]),
        ("Ada maintains billing", "relation", ["Ada", "billing"]),
        ("billing: service", "service", ["billing"]),
    ]
    assert {(row["author_client"], row["author_kind"]) for row in rows} == {("server-memory", "import")}
    assert await checker.check(connection) == []


async def test_the_graph_is_read_as_one_document_too(
    settings: Settings, connection: asyncpg.Connection, tmp_path: Path
) -> None:
    bare = [{name: value for name, value in thing.items() if name != "type"} for thing in GRAPH]
    (tmp_path / "graph.json").write_text(json.dumps({"entities": bare[:2], "relations": bare[2:]}, indent=2))

    assert await bring(settings, tmp_path / "graph.json", project="graph") == 0
    assert len(await connection.fetch(HEADS)) == 4


async def test_an_export_of_mcp_memory_service_keeps_times_and_tags(
    settings: Settings, connection: asyncpg.Connection, tmp_path: Path
) -> None:
    (tmp_path / "export.json").write_text(json.dumps(SERVICE, indent=2))

    assert await bring(settings, tmp_path / "export.json", project="service") == 0

    node, loki = reversed(await connection.fetch(HEADS))
    assert (node["type"], node["category"], node["tags"]) == ("DECISION", "decision", ["build", "node"])
    assert node["valid_from"] == datetime.fromtimestamp(1767225600.5, UTC)
    assert (loki["type"], loki["tags"]) == ("FACT", ["logs", "ops"])


async def test_the_sqlite_file_of_mcp_memory_service_is_read_without_what_was_deleted(
    settings: Settings, connection: asyncpg.Connection, tmp_path: Path
) -> None:
    with closing(sqlite3.connect(tmp_path / "sqlite_vec.db")) as database:
        database.execute(
            "CREATE TABLE memories (id INTEGER PRIMARY KEY, content_hash TEXT, content TEXT, tags TEXT,"
            " memory_type TEXT, metadata TEXT, created_at REAL, deleted_at REAL)"
        )
        database.execute("INSERT INTO memories VALUES (1, 'a', 'Kept.', 'x,y', 'note', '{}', 1767225600, NULL)")
        database.execute("INSERT INTO memories VALUES (2, 'b', 'Gone.', '', 'note', '{}', 1767225600, 1767225601)")
        database.commit()

    assert await bring(settings, tmp_path / "sqlite_vec.db", project="service") == 0
    assert [(row["content"], row["tags"]) for row in await connection.fetch(HEADS)] == [("Kept.", ["x", "y"])]


async def test_an_export_of_mem0_keeps_who_it_is_of(
    settings: Settings, connection: asyncpg.Connection, tmp_path: Path
) -> None:
    (tmp_path / "mem0.json").write_text(json.dumps(MEM0))

    assert await bring(settings, tmp_path / "mem0.json", project="people") == 0

    (row,) = await connection.fetch(HEADS)
    assert (row["content"], row["category"], row["tags"]) == ("Works at TechCorp", "professional", ["work", "user:dev"])
    assert row["valid_from"] == datetime(2026, 1, 1, 8, tzinfo=UTC)


async def test_json_lines_of_any_system_carry_supersession(
    settings: Settings, connection: asyncpg.Connection, tmp_path: Path
) -> None:
    told = [
        {"id": "1", "content": "Port 80.", "superseded_by": "2", "retired_at": "2026-02-01T00:00:00Z",
         "created_at": "2026-01-01T00:00:00Z"},
        {"id": "2", "content": "Port 443.", "type": "DECISION", "author": "nginx-bot", "importance": 90},
        {"id": "3", "content": "Port 21.", "status": "DELETED"},
        {"id": "4", "content": "Soon.", "type": "TASK", "expires_at": (datetime.now(UTC) + timedelta(2)).isoformat()},
    ]  # fmt: skip
    (tmp_path / "any.jsonl").write_text(lines(told))

    assert await bring(settings, tmp_path / "any.jsonl", project="any") == 0

    rows = {row["content"]: row["status"] for row in await connection.fetch(HEADS)}
    assert rows == {"Port 80.": "SUPERSEDED", "Port 443.": "ACTIVE", "Port 21.": "DELETED", "Soon.": "ACTIVE"}
    assert await connection.fetchval("SELECT count(*) FROM memhub.live_memories") == 2
    assert await checker.check(connection) == []


async def test_successors_in_a_ring_are_told_and_stay_out(
    settings: Settings, connection: asyncpg.Connection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Fails when `_succeeded` of the writer takes what waits for one another.
    ring = [{"id": "1", "content": "A.", "superseded_by": "2"}, {"id": "2", "content": "B.", "superseded_by": "1"}]
    (tmp_path / "ring.jsonl").write_text(lines(ring))

    assert await bring(settings, tmp_path / "ring.jsonl", project="any") == 1
    assert capsys.readouterr().err.count("what superseded it") == 2
    assert await connection.fetch(HEADS) == []


async def test_what_says_the_same_is_attested_once_for_each_source(
    settings: Settings, connection: asyncpg.Connection, tmp_path: Path
) -> None:
    # Fails without `attested` in `_attest` of the writer.
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("- Use tabs\n")
    (tmp_path / "notes" / "b.md").write_text("Use tabs.\n")
    for _ in range(3):
        assert await bring(settings, tmp_path / "notes", project="notes") == 0

    rows = await connection.fetch("SELECT source FROM memhub.attestations ORDER BY id")
    assert [row["source"] for row in rows] == ["a.md", "b.md"]
    assert await connection.fetchval("SELECT count(*) FROM memhub.memories") == 1


async def test_what_was_replaced_here_does_not_come_back_by_standing_in_a_file(
    settings: Settings, speaker: Client, connection: asyncpg.Connection, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    # Fails without `_passed` of the planner: a copy of the file under another name brings it back as ACTIVE.
    old = await speaker.saved("Use errors.Join, not multierr.")
    await speaker.saved("Use multierr.", supersedes=(old,))
    revised = await speaker.saved("Tests run on Node 20.")
    await speaker.revise(revised, 1, "Tests run on Node 22.")
    await speaker.forget(await speaker.saved("Deploy on Fridays."))
    notes = "- Use errors.Join, not multierr.\n- Tests run on Node 20.\n- Deploy on Fridays.\n- Use tabs.\n"
    (tmp_path / "AGENTS.md").write_text(notes)

    for dry_run in (True, False):
        assert await bring(settings, tmp_path / "AGENTS.md", project="moving", dry_run=dry_run) == 0
        told = capsys.readouterr().out
        did, were = ("would be imported", "would be") if dry_run else ("imported", "were")
        assert f"1 {did}, 3 say what was replaced or forgotten here and {were} left out" in told
    live = await connection.fetch("SELECT content FROM memhub.live_memories JOIN memhub.memory_revisions"
                                  " USING (project_id, memory_id, revision_no) ORDER BY 1")  # fmt: skip
    assert [row["content"] for row in live] == ["Tests run on Node 22.", "Use multierr.", "Use tabs."]


async def test_an_id_does_not_bring_back_what_was_replaced_here(
    settings: Settings, speaker: Client, connection: asyncpg.Connection, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    # Fails where `storied` is told of every line that has an id, as `keeps` is.
    old = await speaker.saved("Use errors.Join, not multierr.")
    await speaker.saved("Use multierr.", supersedes=(old,))
    await speaker.revise(await speaker.saved("Tests run on Node 20."), 1, "Tests run on Node 22.")
    await speaker.forget(await speaker.saved("Deploy on Fridays."))
    said = [
        {"id": "a", "content": "Use errors.Join, not multierr."},
        {"id": "b", "content": "Tests run on Node 20.", "created_at": "2020-01-01T00:00:00Z"},
        {"id": "c", "content": "Deploy on Fridays."},
        {"id": "d", "content": "Deploy on Thursdays.", "superseded_by": "c"},
        {"id": "e", "content": "Deploy on Fridays.", "status": "DELETED"},
        {"id": "f", "content": "Use Multierr"},
    ]
    (tmp_path / "any.jsonl").write_text(lines(said))

    for dry_run, would in ((True, "would be "), (False, "")):
        assert await bring(settings, tmp_path / "any.jsonl", project="moving", dry_run=dry_run) == 1
        told = capsys.readouterr()
        counted = f"1 {would}imported, 1 said already by a live memory, 3 say what was replaced or forgotten here"
        assert counted in told.out
        assert told.err == "line 4: what superseded it did not come, and is not here\n"
    live = await connection.fetch("SELECT content FROM memhub.live_memories JOIN memhub.memory_revisions"
                                  " USING (project_id, memory_id, revision_no) ORDER BY 1")  # fmt: skip
    assert [row["content"] for row in live] == ["Tests run on Node 22.", "Use multierr."]


async def test_secrets_are_left_out_and_named_by_their_place(
    settings: Settings, connection: asyncpg.Connection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Fails without refuse_secrets in `_life` of entries.
    (tmp_path / "any.jsonl").write_text(lines([{"content": f"key {lively.SECRET}"}, {"content": "No key."}]))

    assert await bring(settings, tmp_path / "any.jsonl", project="any") == 1
    told = capsys.readouterr()
    assert "line 1: it looks like a credential" in told.err
    assert lively.SECRET not in told.err + told.out
    assert [row["content"] for row in await connection.fetch(HEADS)] == ["No key."]

    assert await bring(settings, tmp_path / "any.jsonl", project="any", accept_sensitive=True) == 0
    assert len(await connection.fetch(HEADS)) == 2


async def test_bad_lines_are_numbered_and_the_rest_comes(
    settings: Settings, connection: asyncpg.Connection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = ["nonsense", '{"content": ""}', '{"content": "x", "colour": 1}', '{"content": "y", "tags": 7}', '["z"]']
    (tmp_path / "bad.jsonl").write_text("\n".join(['{"content": "Good."}', *bad, '{"content": "Last."}']))

    assert await bring(settings, tmp_path / "bad.jsonl", project="any") == 1
    told = capsys.readouterr().err
    assert [line.split(":")[0] for line in told.splitlines()] == [f"line {number}" for number in range(2, 7)]
    assert [row["content"] for row in await connection.fetch(HEADS)] == ["Good.", "Last."]


async def test_a_broken_document_gives_what_stands_before_the_break(
    settings: Settings, connection: asyncpg.Connection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "cut.json").write_text(json.dumps(SERVICE)[:-60])

    assert await bring(settings, tmp_path / "cut.json", project="service") == 1
    assert "what follows was not read" in capsys.readouterr().err
    assert [row["content"] for row in await connection.fetch(HEADS)] == ["The build needs Node 22."]


async def test_imported_memories_owe_their_vectors(
    settings: Settings, connection: asyncpg.Connection, tmp_path: Path
) -> None:
    # Fails without `owed` in add_live, or without the jobs in `_insert`.
    await connection.execute(
        "INSERT INTO memhub.embedding_models (name, dimension, floor, state, created_at)"
        " VALUES ('small', 3, 0.3, 'current', now())"
    )
    (tmp_path / "any.jsonl").write_text(lines([{"content": f"Fact {number}."} for number in range(70)]))
    await bring(settings, tmp_path / "any.jsonl", project="any")

    assert await connection.fetchval("SELECT count(*) FROM memhub.embedding_work") == 70
    jobs = await connection.fetch("SELECT queue_name, task_name, args->>'revision_no' AS no FROM procrastinate_jobs")
    assert {tuple(job) for job in jobs} == {("embed", "embed_revision", "1")}
    assert len(jobs) == 3


async def test_a_form_of_others_needs_a_project(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "memory.jsonl").write_text(lines(GRAPH))

    with pytest.raises(ProjectRequired, match="not named"):
        await bring(settings, tmp_path / "memory.jsonl")


def test_a_folder_gives_markdown_and_no_other_text(tmp_path: Path) -> None:
    for name in ("a.md", "b.MDX", ".cursorrules", "requirements.txt", "robots.txt"):
        (tmp_path / name).write_text("- said\n")
    assert [file.name for file in sources._files(tmp_path)[0]] == [".cursorrules", "a.md", "b.MDX"]


@pytest.mark.parametrize("chunk", [1, 7, 1 << 20])
def test_a_document_is_read_whole_whatever_the_window(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "CHUNK_BYTES", chunk)
    text = '{"n": 12, "data": {"x": [1, {"y": null}], "memories": [{"a": "é☃ ]}"}, 17, "z"]}, "results": []}'

    found = [(found.collection, found.number, found.value) for found in documents.elements(BytesIO(text.encode()))]
    assert found == [("memories", 1, {"a": "é☃ ]}"}), ("memories", 2, 17), ("memories", 3, "z")]


@pytest.mark.parametrize(
    "text",
    ["", "[1, 2", "{", '{"a" 1}', "[1 2]", '{"memories": [{"a": \xff}]}', "nonsense", "[" + "1" * 5_000 + "]"],
)
def test_a_document_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(documents.BrokenDocument):
        list(documents.elements(BytesIO(text.encode("latin-1"))))


async def test_a_field_whose_name_is_no_unicode_is_told(
    settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Fails without backslashreplace in `_tell`.
    (tmp_path / "memories.json").write_text('{"memories": [{"content": "Kept.", "a\\ud800": 1}]}')

    assert await bring(settings, tmp_path / "memories.json", project="any", format=Format.JSONL) == 1
    assert "unknown fields: a\\ud800" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text", "form"),
    [
        ("CLAUDE.md", "# x", Format.MARKDOWN),
        (".cursorrules", "x", Format.MARKDOWN),
        ("a", lines(GRAPH), Format.SERVER_MEMORY),
        ("a", json.dumps(SERVICE, indent=1), Format.MCP_MEMORY_SERVICE),
        ("a", json.dumps(SERVICE), Format.MCP_MEMORY_SERVICE),
        ("a", json.dumps(MEM0["results"]), Format.MEM0),
        ("a", '{"content": "x"}\n{"content": "y"}', Format.JSONL),
        ("a", '{"kind":"memhub-export","version":1}\n', Format.MEMHUB),
    ],
)
def test_the_form_is_told_from_the_first_bytes(tmp_path: Path, name: str, text: str, form: Format) -> None:
    (tmp_path / name).write_text(text)

    assert detect(tmp_path / name) is form


@pytest.mark.parametrize("text", ["hello", "[]", '{"a": 1}', "\x00\x01"])
def test_a_file_of_no_known_form_is_refused_with_the_forms(tmp_path: Path, text: str) -> None:
    (tmp_path / "a").write_text(text)

    with pytest.raises(FileRefused) as told:
        detect(tmp_path / "a")
    assert "--format: memhub, jsonl, server-memory" in told.value.next
