"""Databases that other memory servers themselves wrote (tests/ops/foreign), imported by their URL alone."""

from __future__ import annotations

import json
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
from tests.ops.test_odd_records import KEY
from tests.ops.test_round_trip import bring

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
    assert told.err.count("content: holds 32768 bytes of UTF-8, at most 32000 are allowed") == 2
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


async def test_an_odd_memory_of_the_first_memhub_is_told_and_the_rest_comes(
    settings: Settings,
    connection: asyncpg.Connection,
    theirs: asyncpg.Connection,
    other_url: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # Fails without UNREADABLE in `_fitting`, without the CASE around `event.detail` in the statement of its projects,
    # or without one of the cuts of `_fit_memory`, `_fit_project` and `_fit_event`.
    await written(theirs, "first-memhub.sql")
    (bare, secret, ragged) = await theirs.fetch(
        "SELECT id FROM memories WHERE status = 'ACTIVE' AND current_revision_no = 1 AND NOT EXISTS ("
        "SELECT FROM memories AS old WHERE old.superseded_by_id = memories.id) ORDER BY created_at LIMIT 3"
    )
    await theirs.execute("DELETE FROM memory_revisions WHERE memory_id = $1", bare["id"])
    await theirs.execute("UPDATE memory_attestations SET client_name = $2 WHERE memory_id = $1", secret["id"], KEY)
    await theirs.execute(
        "UPDATE memory_revisions SET tags = ARRAY[repeat('x', 300), E'a\nb', 'a b'], source = ' ', change_reason = '',"
        " author_client = E'a\x1b[31mred' WHERE memory_id = $1",
        ragged["id"],
    )
    await theirs.execute(
        "UPDATE audit_events SET detail = '[1, 2]', request_id = 'x' WHERE memory_id = $1", ragged["id"]
    )
    await theirs.execute("UPDATE audit_events SET detail = '\"a\"' WHERE action = 'purge'")
    await theirs.execute("UPDATE projects SET display_name = E'a\x1bb'")

    assert await brought(settings, other_url) == 1

    told = capsys.readouterr()
    assert "2 projects made, 1 looks like a credential" in told.out
    assert "ValueError: it has no revisions" in told.err
    assert "author_client: it looks like a credential" in told.err
    here = {row["id"] for row in await connection.fetch("SELECT id FROM memhub.memories")}
    assert here & {bare["id"], secret["id"], ragged["id"]} == {ragged["id"]}
    assert len(here) > 45
    said = await connection.fetchrow("SELECT * FROM memhub.memory_revisions WHERE memory_id = $1", ragged["id"])
    assert (said["tags"], said["source"], said["author_client"]) == (["x" * 64, "a b"], None, "a [31mred")
    assert await connection.fetchval("SELECT display_name FROM memhub.projects LIMIT 1") == "a b"
    purged = "SELECT DISTINCT array(SELECT jsonb_object_keys(details)) FROM memhub.audit_events WHERE event = 'purged'"
    assert await connection.fetchval(purged) == ["memory_id"]
    assert await checker.check(connection) == []


HEADS = """
SELECT split_part(content, chr(10), 1) AS said, status, type, category, tags, conversation, author_client, importance,
       superseded_by IS NOT NULL AS follows
FROM memhub.memories AS memory JOIN memhub.memory_revisions AS revision
    ON revision.project_id = memory.project_id AND revision.memory_id = memory.id"""
# What would have expired by the day of the test.
LASTING = {
    "memory-mcp-paths.sql": """
        UPDATE memories SET updated_at = now() WHERE metadata ? 'ttl_days' AND archived_at IS NULL""",
    "memory-mcp-environments.sql": """
        UPDATE memories SET expires_at = now() + interval '1 day' WHERE expires_at > '2026-12-01'""",
}


@pytest.mark.parametrize("rows_a_batch", [1, 1_000])
@pytest.mark.parametrize(
    ("dump", "origin", "stands"),
    [
        ("mcp-memory.sql", "shop", {"ACTIVE": 9}),
        ("mcp-memory.sql", "fleet.tracker-2", {"ACTIVE": 4}),
        ("mcp-memory-0.8.sql", "shop", {"ACTIVE": 9}),
        ("memory-mcp-paths.sql", "shop", {"ACTIVE": 10, "SUPERSEDED": 4, "DELETED": 3}),
        ("memory-mcp-paths.sql", "fleet_tracker", {"ACTIVE": 2, "SUPERSEDED": 1, "DELETED": 2}),
        ("memory-mcp-paths.sql", "profile", {"ACTIVE": 2}),
        ("memory-mcp-environments.sql", "shop", {"ACTIVE": 20, "SUPERSEDED": 5, "DELETED": 4}),
        ("memory-mcp-environments.sql", "Fleet Tracker", {"ACTIVE": 4}),
    ],
)
async def test_a_database_comes_as_it_stood(
    settings: Settings,
    connection: asyncpg.Connection,
    theirs: asyncpg.Connection,
    other_url: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    dump: str,
    origin: str,
    stands: dict[str, int],
    rows_a_batch: int,
) -> None:
    # Fails when what was replaced or archived there is live here, or what belongs to another there comes along.
    monkeypatch.setattr("ops.moving.batches.BATCH_ROWS", rows_a_batch)
    await written(theirs, dump)
    await theirs.execute(LASTING.get(dump, "SELECT 1"))

    for told in (f"{sum(stands.values())} imported", f"{sum(stands.values())} there already"):
        assert await brought(settings, other_url, project="moving", origin=origin) == 0
        assert told in capsys.readouterr().out
    counted = await connection.fetch("SELECT status, count(*) FROM memhub.memories GROUP BY status")
    assert dict(map(tuple, counted)) == stands
    assert await checker.check(connection) == []


@pytest.mark.parametrize("name", ["mcp-memory.sql", "mcp-memory-0.8.sql", "mcp-memory-vectors.json"])
async def test_what_mcp_memory_kept_for_a_conversation_stays_in_it(
    settings: Settings, connection: asyncpg.Connection, theirs: asyncpg.Connection, other_url: str, name: str
) -> None:
    # Fails when `conversation` is left out of the format's entries: a note of one thread would be for all.
    if name.endswith(".json"):
        assert await bring(settings, FOREIGN / name, project="moving", origin="shop") == 0
    else:
        await written(theirs, name)
        await brought(settings, other_url, project="moving", origin="shop")

    heads = await connection.fetch(f"{HEADS} ORDER BY said")
    assert [(row["said"][:30], row["conversation"]) for row in heads if row["conversation"]] == [
        ("Draft of the migration note go", "a2a-ctx%20#41"),
        ("In this thread we call the blu", "slack:C0492/1725177600.000200"),
    ]
    (decision,) = [row for row in heads if row["category"] == "decision"]
    assert (decision["type"], decision["tags"]) == ("DECISION", ["money", "postgres"])
    (preference,) = [row for row in heads if row["category"] == "preference"]
    assert preference["tags"] == ["style", "type:conversation"]


async def test_a_memory_of_a_conversation_that_is_not_named_is_not_for_all(
    settings: Settings, connection: asyncpg.Connection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rows.jsonl").write_text(
        '{"tenant_id": "shop", "id": "1", "content": "Only here.", "scope": "conversation", "conversation": null}\n'
    )
    assert await bring(settings, tmp_path / "rows.jsonl", project="moving") == 1
    assert "line 1: conversation: must be 1 to 512 printable ASCII" in capsys.readouterr().err
    assert await connection.fetchval("SELECT count(*) FROM memhub.memories") == 0


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("('acme', '1', 'Said.'), ('', '2', 'Of nobody.')", "1 imported, 1 could not be read"),
        ("('acme', '1', repeat('x', 1200000)), ('acme', '2', 'Said.')", "1 imported, 1 could not be read"),
        ("('acme', '1', NULL)", "1 could not be read"),
        ("(NULL, NULL, NULL)", "1 could not be read"),
        (None, "there was nothing in it"),
    ],
    ids=["no tenant", "long first row", "no content", "nothing", "empty"],
)
async def test_a_known_database_is_known_whatever_its_rows_are(
    settings: Settings,
    theirs: asyncpg.Connection,
    other_url: str,
    capsys: pytest.CaptureFixture[str],
    rows: str | None,
    told: str,
) -> None:
    # Fails when its form is told from its first lines, or `origins` leaves the empty one out.
    await written(theirs, "mcp-memory.sql")
    await theirs.execute("TRUNCATE memories")
    if rows is not None:
        await theirs.execute(f"INSERT INTO memories (tenant_id, id, content) VALUES {rows}")

    await brought(settings, other_url, project="moving")

    assert told in capsys.readouterr().out


async def test_labels_without_bounds_there_lose_no_memory(
    settings: Settings, connection: asyncpg.Connection, theirs: asyncpg.Connection, other_url: str
) -> None:
    await written(theirs, "memory-mcp-environments.sql")
    await theirs.execute(LASTING["memory-mcp-environments.sql"])
    await theirs.execute("UPDATE agents SET name = repeat('long ', 100); UPDATE memories SET salience = 1.2")
    assert await brought(settings, other_url, project="moving", origin="Fleet Tracker") == 0
    heads = await connection.fetch(HEADS)
    assert {row["importance"] for row in heads} == {100}
    assert max(len(row["author_client"]) for row in heads) > 100


async def test_where_a_memory_for_all_was_said_is_no_reason_to_refuse_it(
    settings: Settings, connection: asyncpg.Connection, tmp_path: Path
) -> None:
    # Fails when `_provenance` gives on what no conversation of ours can be.
    row = {"tenant_id": "shop", "id": "1", "content": "For all.", "scope": "project", "conversation": "two words"}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row))
    assert await bring(settings, tmp_path / "rows.jsonl", project="moving") == 0
    (head,) = await connection.fetch(HEADS)
    assert (head["said"], head["conversation"]) == ("For all.", None)


@pytest.mark.parametrize("token", ["nextToken", "NextToken"])
async def test_a_page_of_a_listing_is_told_to_be_one(
    settings: Settings, connection: asyncpg.Connection, tmp_path: Path, capsys: pytest.CaptureFixture[str], token: str
) -> None:
    # Fails when `goes_on` of the document's reader does not end in an error: the rest is missing and nobody knows.
    cut = (FOREIGN / "mcp-memory-vectors-cut.json").read_text().replace("nextToken", token)
    (tmp_path / "cut.json").write_text(cut)
    assert await bring(settings, tmp_path / "cut.json", project="moving") == 1
    told = capsys.readouterr()
    assert "5 imported" in told.out
    assert "one page of a listing that goes on" in told.err


async def test_memory_mcp_comes_with_what_followed_what(
    settings: Settings, connection: asyncpg.Connection, theirs: asyncpg.Connection, other_url: str
) -> None:
    # Fails when a ring there (8080, 9090, 8080 again) holds its memories back, or one of two that follow nothing
    # is taken for live: what names itself, and what names a memory that was destroyed.
    await written(theirs, "memory-mcp-paths.sql")
    await theirs.execute(LASTING["memory-mcp-paths.sql"])
    await brought(settings, other_url, project="moving", origin="shop")

    heads = await connection.fetch(f"{HEADS} WHERE status <> 'ACTIVE' ORDER BY category, status DESC")
    assert [(row["category"].removeprefix("projects.shop."), row["status"], row["follows"]) for row in heads] == [
        ("checkout", "DELETED", False),
        ("deployment", "SUPERSEDED", True),
        ("marketing.newsletter", "DELETED", False),
        ("queue", "SUPERSEDED", True),
        ("staging", "SUPERSEDED", True),
        ("staging", "DELETED", False),
        ("warehouse", "SUPERSEDED", True),
    ]
    (decision,) = await connection.fetch(f"{HEADS} WHERE type = 'DECISION'")
    assert decision["category"] == "projects.shop.decisions"
    expiring = "SELECT count(*) FROM memhub.live_memories WHERE expires_at IS NOT NULL"
    assert await connection.fetchval(expiring) == 1


async def test_the_export_of_memory_mcp_is_of_the_same_memories(
    settings: Settings,
    connection: asyncpg.Connection,
    theirs: asyncpg.Connection,
    other_url: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    await written(theirs, "memory-mcp-paths.sql")
    await theirs.execute(LASTING["memory-mcp-paths.sql"])
    await brought(settings, other_url, project="moving", origin="profile")
    assert await bring(settings, FOREIGN / "memory-mcp-paths.json", project="moving", origin="profile") == 0
    assert "2 there already." in capsys.readouterr().out


async def test_memory_mcp_of_environments_comes_with_its_steps_and_reasons(
    settings: Settings,
    connection: asyncpg.Connection,
    theirs: asyncpg.Connection,
    other_url: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # Fails when what moved to another environment there is held back for its successor, `_text` leaves a part out, or
    # `_lives` of sources does not look at the origin: what was said in another was passed over by name.
    await written(theirs, "memory-mcp-environments.sql")
    await theirs.execute(LASTING["memory-mcp-environments.sql"])
    await brought(settings, other_url, project="moving", origin="shop")

    passed = ("it was proposed there and not accepted", "it is a message between agents and no memory")
    told = capsys.readouterr().err
    assert not any(reason in told for reason in passed)
    contents = [content for (content,) in await connection.fetch("SELECT content FROM memhub.memory_revisions")]
    (decision,) = [content for content in contents if content.startswith("One consumer per core")]
    assert decision == "One consumer per core\n\nRun one consumer per core.\n\nRationale: CPU bound"
    (playbook,) = [content for content in contents if content.startswith("Orders stopped\n")]
    assert "\n\n1. Look at the consumers: " in playbook
    (moved,) = await connection.fetch(f"{HEADS} WHERE content LIKE '%geofence%'")
    assert (moved["status"], moved["follows"]) == ("DELETED", False)
    authors = await connection.fetch(f"SELECT DISTINCT author_client FROM ({HEADS}) AS heads ORDER BY 1")
    assert [author for (author,) in authors] == ["agent-6f0c2f0e", "claude-code", "default-local-agent"]
    await brought(settings, other_url, project="tracking", origin="Fleet Tracker")
    told = capsys.readouterr().err
    assert all(reason in told for reason in passed)


async def test_what_cannot_be_read_of_others_there_is_no_matter_of_this_import(
    settings: Settings, connection: asyncpg.Connection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Fails where `_lives` of sources does not look at the origin: the import of one tenant exited 1 for what was wrong
    # with another's. A line that tells nothing is told of in each.
    rows = [
        {"tenant_id": "shop", "id": "1", "content": None},
        {"tenant_id": "shop", "id": "2", "content": "x" * 40_000},
        {"tenant_id": "acme", "id": "3", "content": "Ours."},
    ]
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert await bring(settings, tmp_path / "rows.jsonl", project="moving", origin="acme") == 0
    assert capsys.readouterr() == ("Import (mcp-memory): 1 imported.\n", "")
    (tmp_path / "rows.jsonl").write_text((tmp_path / "rows.jsonl").read_text() + "{\n")
    assert await bring(settings, tmp_path / "rows.jsonl", project="moving", origin="acme") == 1
    assert capsys.readouterr().err == "line 4: it is no JSON\n"


async def test_what_a_parser_stumbles_over_is_of_its_origin_too(
    settings: Settings, connection: asyncpg.Connection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Fails where the origin is told by what the parser makes of a record.
    odd = {"category_path": "shop.rules", "content": "Odd.", "updated_at": "then", "metadata": {"ttl_days": 1}}
    rows = [odd, {"category_path": "acme.rules", "content": "Ours.", "metadata": {}}]
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    wishes = {"format": Format.MEMORY_MCP, "project": "moving"}
    assert await bring(settings, tmp_path / "rows.jsonl", origin="acme", **wishes) == 0
    assert capsys.readouterr().err == ""


async def test_of_many_that_memories_belong_to_some_are_named(
    settings: Settings, connection: asyncpg.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Fails without ORIGINS_TOLD_MAX: an error would be as long as the file.
    monkeypatch.setattr("ops.moving.origins.ORIGINS_TOLD_MAX", 2)
    rows = ({"tenant_id": f"shop-{number}", "id": "1", "content": "Ours."} for number in range(4))
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    with pytest.raises(FileRefused, match=r"belong to 4, which one project would mix: shop-0, shop-1, …\.$"):
        await bring(settings, tmp_path / "rows.jsonl", format=Format.MCP_MEMORY, project="moving")


async def test_where_nothing_tells_whose_it_is_no_name_is_advised(
    settings: Settings, connection: asyncpg.Connection, tmp_path: Path
) -> None:
    # Fails without the look at an empty `there` in `require_one`: the advice was "Name one of: .".
    (tmp_path / "rows.jsonl").write_text('{"id": "1", "content": "Of nobody."}\n')
    with pytest.raises(FileRefused) as refused:
        await bring(settings, tmp_path / "rows.jsonl", format=Format.MCP_MEMORY, project="moving", origin="shop")
    assert "no memory of" in refused.value.line
    assert refused.value.line.endswith("tells where it belongs. Leave --from out.")


@pytest.mark.parametrize(
    ("dump", "wishes", "told"),
    [
        ("mcp-memory.sql", {}, "belong to 2, which one project would mix: fleet.tracker-2, shop. Name one of them"),
        ("mcp-memory.sql", {"origin": "other"}, "nothing belongs to other there. Name one of: fleet.tracker-2, shop"),
        ("first-memhub.sql", {"origin": "shop.backend_2"}, "--from: nothing of memhub tells where it belongs"),
        ("first-memhub.sql", {"format": Format.MEMORY_MCP}, "it is a database of memhub. Give --format memhub"),
    ],
)
async def test_what_does_not_fit_the_database_is_told(
    settings: Settings,
    connection: asyncpg.Connection,
    theirs: asyncpg.Connection,
    other_url: str,
    dump: str,
    wishes: dict[str, Any],
    told: str,
) -> None:
    await written(theirs, dump)

    with pytest.raises(FileRefused) as refused:
        await brought(settings, other_url, project="moving", **wishes)

    assert told in refused.value.line
    assert await connection.fetchval("SELECT count(*) FROM memhub.projects") == 0
