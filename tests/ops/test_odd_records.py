"""Records that are not as their form says: each is told by its place and what stands around it comes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any

import asyncpg
import orjson
import pytest

from shared import checker
from shared.settings import Settings
from tests.memories.clients import Client
from tests.ops import lively
from tests.ops.test_round_trip import bring, taken

TIMES = """
SELECT content, created_at, expires_at FROM memhub.memories JOIN memhub.memory_revisions ON memory_id = id
ORDER BY content"""
CONTENTS = "SELECT array_agg(content ORDER BY content) FROM memhub.memory_revisions"

Change = Callable[[dict[str, Any]], None]


def written(path: Path, *values: Any) -> Path:
    path.write_text("\n".join(map(json.dumps, values)) + "\n")
    return path


async def test_a_time_of_the_year_one_is_a_time_that_is_not_known(
    settings: Settings, connection: asyncpg.Connection, tmp_path: Path
) -> None:
    # Fails without MINYEAR in `instant` of entries: search raises over such a row and no export of it can be read.
    said = {"content": "Written in Go.", "created_at": "0001-01-01T00:00:00Z", "expires_at": "0001-01-01T00:00:00Z"}
    assert await bring(settings, written(tmp_path / "go.jsonl", said), project="moving") == 0
    (row,) = await connection.fetch(TIMES)
    assert row["created_at"].year > 2000
    assert row["expires_at"] is None
    assert await checker.check(connection) == []


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        *product(("id", "superseded_by"), ({}, [], True, False, 1.5, ""), ("must be a text or a whole number",)),
        ("author", "a" * 600, "must be a text of at most 128 bytes"),
        ("author", {"name": "codex"}, "must be a text of at most 128 bytes"),
        ("author", 7, "must be a text of at most 128 bytes"),
    ],
)
async def test_an_id_or_an_author_that_is_none_is_told(
    settings: Settings, connection: asyncpg.Connection, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    field: str, value: object, told: str,
) -> None:  # fmt: skip
    # Fails without `_known_by` or `_author` of entries: `{}` and `true` were ids, and a long name was cut in silence.
    odd = {"id": "odd", "content": "Port 80."} | {field: value}
    path = written(tmp_path / "odd.jsonl", {"id": 7, "content": "Port 22."}, odd, {"id": "9", "content": "Port 443."})
    assert await bring(settings, path, project="moving") == 1
    assert capsys.readouterr().err == f"line 2: {field}: {told}\n"
    assert await connection.fetchval(CONTENTS) == ["Port 22.", "Port 443."]


async def test_an_id_of_mem0_that_is_none_is_told(
    settings: Settings, connection: asyncpg.Connection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Fails without `_known_by` of entries.
    told = {"results": [{"id": {}, "memory": "Port 80."}, {"id": "b", "memory": "Port 443."}]}
    assert await bring(settings, written(tmp_path / "mem0.json", told), project="moving") == 1
    assert "id: must be a text or a whole number" in capsys.readouterr().err
    assert await connection.fetchval(CONTENTS) == ["Port 443."]


@pytest.mark.parametrize("expiry", ["9999-12-31", "9999-12-31T23:59:59.999999Z"])
async def test_an_end_in_the_last_year_is_no_end(
    settings: Settings, connection: asyncpg.Connection, tmp_path: Path, expiry: str
) -> None:
    # Fails without MAXYEAR in `instant` of entries.
    path = written(tmp_path / "last.jsonl", {"content": "It stays.", "expires_at": expiry})
    mem0 = {"results": [{"memory": "So does this.", "expiration_date": expiry}, {"memory": "The next."}]}
    assert await bring(settings, path, project="moving") == 0
    assert await bring(settings, written(tmp_path / "mem0.json", mem0), project="moving") == 0
    assert [row["expires_at"] for row in await connection.fetch(TIMES)] == [None, None, None]


@pytest.mark.parametrize("created_at", ["1969-12-31T23:59:59Z", "0002-01-01T00:00:00Z", -62135596801, -1e9, 1e300])
async def test_a_time_that_no_program_means_is_told(
    settings: Settings,
    connection: asyncpg.Connection,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    created_at: object,
) -> None:
    # Fails without `is_storable` in `instant` of entries.
    path = written(tmp_path / "old.jsonl", {"content": "Old.", "created_at": created_at}, {"content": "New."})
    assert await bring(settings, path, project="moving") == 1
    assert "line 1: created_at: must" in capsys.readouterr().err
    assert await connection.fetchval(CONTENTS) == ["New."]


def first(name: str, **values: Any) -> Change:
    def change(memory: dict[str, Any]) -> None:
        memory[name][0] |= values

    return change


def itself(**values: Any) -> Change:
    return lambda memory: memory.update(values)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(itself(created_at="0001-01-01T00:00:00+00:00"), id="zero time"),
        pytest.param(itself(created_at="-infinity"), id="infinity"),
        pytest.param(first("revisions", valid_from="0001-01-01T00:00:00+00:00"), id="zero time of a revision"),
        pytest.param(first("revisions", expires_at="9999-12-31T23:59:59.999999+00:00"), id="last time"),
        pytest.param(first("events", at="0001-01-01T00:00:00+00:00"), id="zero time of an event"),
        pytest.param(first("events", revision=0), id="event of revision 0"),
        pytest.param(first("events", revision=-1), id="event of revision -1"),
        pytest.param(first("events", revision=2**40), id="event of a revision beyond all"),
        pytest.param(first("events", revision=True), id="event of revision true"),
        pytest.param(first("attestations", revision=0), id="attestation of revision 0"),
        pytest.param(first("attestations", revision=99), id="attestation of a revision to come"),
        pytest.param(first("revisions", revision=True), id="revision true"),
        pytest.param(first("revisions", importance=2**40), id="importance"),
        pytest.param(first("revisions", importance=-1), id="importance below none"),
        pytest.param(first("revisions", category=["a"]), id="category"),
        pytest.param(first("revisions", content=["a"]), id="content"),
        pytest.param(first("revisions", tags="ab"), id="tags"),
        pytest.param(first("revisions", author_client=None), id="author"),
        pytest.param(first("events", client=7), id="client"),
        pytest.param(itself(conversation=["a"]), id="conversation"),
        pytest.param(itself(conversation={}), id="conversation an object"),
        pytest.param(itself(retired_by=["a"]), id="retired by"),
    ],
)
async def test_a_memory_of_an_export_that_nobody_could_write_is_told_by_its_line(
    settings: Settings,
    other: Settings,
    speaker: Client,
    there: asyncpg.Connection,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    change: Change,
) -> None:
    # Fails, each, without its check in `ours`, or without UNREADABLE and ValueError in its reader and the writer.
    await speaker.saved("The first.", type="FACT")
    await speaker.saved("The second.")
    lines = await taken(settings, tmp_path / "export.jsonl")
    place = next(place for place, line in enumerate(lines) if b"The first." in line)
    memory = orjson.loads(lines[place])
    change(memory)
    lines[place] = orjson.dumps(memory, option=orjson.OPT_APPEND_NEWLINE)
    (tmp_path / "odd.jsonl").write_bytes(b"".join(lines))

    assert await bring(other, tmp_path / "odd.jsonl") == 1

    assert f"line {place + 1}: " in capsys.readouterr().err
    assert await there.fetchval(CONTENTS) == ["The second."]
    assert await checker.check(there) == []


@pytest.mark.parametrize("change", [{"slug": ["a"]}, {"slug": "No Slug"}, {"tenant": ""}, {"created_at": "infinity"}])
async def test_a_project_of_an_export_that_nobody_could_make_is_told_by_its_line(
    settings: Settings,
    other: Settings,
    speaker: Client,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    change: dict[str, Any],
) -> None:
    # Fails without `except _REFUSED` in `project` of the writer.
    await lively.live(speaker)
    lines = await taken(settings, tmp_path / "export.jsonl")
    lines[1] = orjson.dumps(orjson.loads(lines[1]) | change, option=orjson.OPT_APPEND_NEWLINE)
    (tmp_path / "odd.jsonl").write_bytes(b"".join(lines))
    assert await bring(other, tmp_path / "odd.jsonl") == 1
    assert "line 2: " in capsys.readouterr().err


async def test_a_project_of_a_time_to_come_is_refused_with_its_memories(
    settings: Settings,
    other: Settings,
    speaker: Client,
    there: asyncpg.Connection,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # Fails without TO_COME in `_project` of the writer, or without the aliases and events in `newest` of a project.
    await speaker.saved("The first.")
    lines = await taken(settings, tmp_path / "export.jsonl")
    to_come = "2999-01-01T00:00:00+00:00"
    for change in (itself(created_at=to_come), first("aliases", created_at=to_come), first("events", at=to_come)):
        project = orjson.loads(lines[1])
        change(project)
        odd = orjson.dumps(project, option=orjson.OPT_APPEND_NEWLINE)
        (tmp_path / "odd.jsonl").write_bytes(b"".join([lines[0], odd, *lines[2:]]))
        assert await bring(other, tmp_path / "odd.jsonl") == 1
        told = capsys.readouterr().err
        assert "line 2: it tells of a time that is still to come" in told
        assert "line 3: its project was refused" in told
    assert await there.fetchval("SELECT count(*) FROM memhub.projects") == 0


async def test_what_is_odd_around_a_project_is_told_and_its_memories_come(
    settings: Settings,
    other: Settings,
    speaker: Client,
    there: asyncpg.Connection,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # Fails without `left` in `project` of the writer.
    await speaker.saved("The first.")
    lines = await taken(settings, tmp_path / "export.jsonl")
    project = orjson.loads(lines[1]) | {"display_name": f"key {KEY}"}
    next(alias for alias in project["aliases"] if alias["kind"] == "workspace_path")["value"] = "not/absolute"
    lines[1] = orjson.dumps(project, option=orjson.OPT_APPEND_NEWLINE)
    (tmp_path / "odd.jsonl").write_bytes(b"".join(lines))
    assert await bring(other, tmp_path / "odd.jsonl") == 1
    told = capsys.readouterr().err
    assert "line 2: display_name: it looks like a credential" in told
    assert "line 2: workspace_path: must be an absolute path" in told
    assert await there.fetchval("SELECT display_name FROM memhub.projects") is None
    assert await there.fetchval("SELECT array_agg(kind) FROM memhub.project_aliases") == ["git_remote"]
    assert await there.fetchval(CONTENTS) == ["The first."]


DEEP = "[" * 3_000 + "]" * 3_000


@pytest.mark.parametrize(
    ("name", "values", "place"),
    [
        ("null.jsonl", [{"content": "a"}, {"content": None}, {"content": "b"}], "line 2: it has no content"),
        ("tags.jsonl", [{"content": "a"}, {"content": "c", "tags": [[]]}, {"content": "b"}], "line 2: tags[0]"),
        (
            "huge.jsonl",
            [{"content": "a"}, {"content": "c", "created_at": 1e308}, {"content": "b"}],
            "line 2: created_at",
        ),
    ],
)
async def test_one_bad_record_is_told_and_the_rest_comes(
    settings: Settings,
    connection: asyncpg.Connection,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    values: list[Any],
    place: str,
) -> None:
    assert await bring(settings, written(tmp_path / name, *values), project="moving") == 1
    assert place in capsys.readouterr().err
    assert await connection.fetchval(CONTENTS) == ["a", "b"]


async def test_metadata_that_is_nested_too_deeply_says_nothing(
    settings: Settings, connection: asyncpg.Connection, tmp_path: Path
) -> None:
    # Fails without RecursionError in `_metadata`.
    memories = [{"content": "a", "content_hash": "1"}, {"content": "b", "content_hash": "2", "metadata": DEEP}]
    assert await bring(settings, written(tmp_path / "deep.json", {"memories": memories}), project="moving") == 0
    assert await connection.fetchval(CONTENTS) == ["a", "b"]


async def test_a_row_that_is_no_utf8_is_told_and_the_rest_comes(
    settings: Settings, connection: asyncpg.Connection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Fails without text_factory in `database` of sqlite_files.
    with closing(sqlite3.connect(tmp_path / "memories.db")) as database:
        database.execute("CREATE TABLE memories (content_hash TEXT, content TEXT, tags TEXT, created_at REAL)")
        rows = [("1", b"a", b"t"), ("2", b"\xff\xfe", b"t"), ("3", b"b", b"\xff")]
        database.executemany("INSERT INTO memories VALUES (?, CAST(? AS TEXT), CAST(? AS TEXT), 1767225600)", rows)
        database.commit()
    assert await bring(settings, tmp_path / "memories.db", project="moving") == 1
    assert "row 2: content: is not UTF-8" in capsys.readouterr().err
    assert await connection.fetchval(CONTENTS) == ["a", "b"]


KEY = "AKIAIOSFODNN7EXAMPL2"


@pytest.mark.parametrize(
    ("field", "value"), [("tags", ["fine", KEY]), ("source", KEY), ("category", KEY), ("author", f"a {KEY}")]
)
async def test_a_credential_beside_the_content_is_left_out_and_named_by_its_field(
    settings: Settings,
    connection: asyncpg.Connection,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    field: str,
    value: object,
) -> None:
    # Fails without refuse_labels in `_life` of entries.
    path = written(tmp_path / "secret.jsonl", {"content": "a", field: value}, {"content": "b"})
    assert await bring(settings, path, project="moving") == 1
    told = capsys.readouterr().err
    assert f"line 1: {field}: it looks like a credential" in told
    assert KEY not in told
    assert await connection.fetchval(CONTENTS) == ["b"]
    assert await bring(settings, path, project="moving", accept_sensitive=True) == 0


@pytest.mark.parametrize("field", ["source", "category", "author_client", "tags"])
async def test_a_credential_beside_the_content_of_an_export_is_left_out(
    settings: Settings,
    other: Settings,
    speaker: Client,
    there: asyncpg.Connection,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    field: str,
) -> None:
    # Fails without refuse_labels in `_revision` of ours.
    await speaker.saved("The first.")
    lines = await taken(settings, tmp_path / "export.jsonl")
    place = next(place for place, line in enumerate(lines) if b"The first." in line)
    memory = orjson.loads(lines[place])
    memory["revisions"][0][field] = [KEY] if field == "tags" else KEY
    lines[place] = orjson.dumps(memory, option=orjson.OPT_APPEND_NEWLINE)
    (tmp_path / "odd.jsonl").write_bytes(b"".join(lines))
    assert await bring(other, tmp_path / "odd.jsonl") == 1
    assert f"{field}: it looks like a credential" in capsys.readouterr().err
    assert await there.fetchval("SELECT count(*) FROM memhub.memories") == 0


async def test_what_expired_gives_way_to_an_import_and_tells_so(
    settings: Settings, connection: asyncpg.Connection, speaker: Client, tmp_path: Path
) -> None:
    # Fails without `_EXPIRE` in `_twins` of planning.
    expired = await speaker.saved("The freeze is on.", ttl_days=1 / 86_400_000_000)
    path = written(tmp_path / "freeze.jsonl", {"content": "The freeze is on."})
    assert await bring(settings, path, project=speaker.scope.slug) == 0
    assert await bring(settings, path, project=speaker.scope.slug) == 0

    assert [event.event for event in (await speaker.history(expired)).events] == ["remembered", "expired"]
    assert expired not in await speaker.live()
    assert len(await speaker.live()) == 1
    assert await checker.check(connection) == []
