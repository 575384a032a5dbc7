"""Our own export: the whole history goes out, comes back into an empty database, and goes out the same."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import asyncpg
import orjson
import pytest

from ops import purging
from ops.export import export
from ops.files import FileRefused
from ops.importing import Wish, import_
from ops.operating import operating
from shared import checker, retention
from shared.domain import MemoryType
from shared.opening import opened
from shared.retrieval import frequencies
from shared.settings import Settings
from tests.memories.clients import Client
from tests.ops import lively


async def bring(settings: Settings, path: Path, **wishes: object) -> int:
    wish = {"format": None, "project": None, "dry_run": False, "accept_sensitive": False} | wishes
    return await import_(settings, Wish(source=str(path), **wish))  # type: ignore[arg-type]


async def taken(settings: Settings, path: Path, **wishes: object) -> list[bytes]:
    """The lines of an export."""
    wish = {"project": None, "tenant": None} | wishes
    assert await export(settings, output=path, **wish) == 0  # type: ignore[arg-type]
    return lines_of(path)


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def without_imports(lines: list[bytes]) -> list[bytes]:
    """The lines but for what imports told of themselves."""
    kept = []
    for line in lines:
        value = orjson.loads(line)
        if value["kind"] == "project":
            value["events"] = [event for event in value["events"] if event["event"] != "imported"]
        kept.append(orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE))
    return kept


async def test_an_export_imported_into_an_empty_database_is_exported_the_same(
    settings: Settings, other: Settings, speaker: Client, there: asyncpg.Connection, tmp_path: Path
) -> None:
    # Fails when a column is left out of export_memories, add_revisions, add_attestations or add_events.
    await lively.live(speaker)
    second = await lively.client(speaker.connection, "second")
    await second.saved("The queue is RabbitMQ.")
    before = await taken(settings, tmp_path / "before.jsonl")

    assert await bring(other, tmp_path / "before.jsonl") == 0

    after = await taken(other, tmp_path / "after.jsonl")
    assert without_imports(after) == before
    assert len(before) == 1 + 2 + 10 + 1
    assert await checker.check(there) == []


async def test_what_was_purged_expired_or_retired_by_a_judge_is_exported_the_same_again(
    settings: Settings,
    other: Settings,
    speaker: Client,
    connection: asyncpg.Connection,
    there: asyncpg.Connection,
    tmp_path: Path,
) -> None:
    # Fails when a purged revision gets words, an expired memory a live row, or a judge's work is told as a client's.
    ids = await lively.live(speaker)
    await speaker.speaking("codex", conversation="talk-9").remember(
        "THE QUEUE IS POSTGRESQL", tags=("db",), category="infra", importance=7, ttl_days=9, type=MemoryType.CONSTRAINT
    )
    past = await speaker.saved("Soon past, and reaped.", ttl_days=1 / 86_400_000)
    async with opened(settings, application="test") as database:
        assert (await retention.reap(database))["memories"] == 1
    still = await speaker.saved("Soon past, and not reaped.", ttl_days=1 / 86_400_000)
    async with operating(settings, again="") as operator:
        await purging.destroy(operator, [ids["second"], ids["revised"]])
        await operator.execute(
            "WITH now AS MATERIALIZED (SELECT clock_timestamp() AS at), closed AS (UPDATE memhub.memory_revisions"
            " SET valid_to = now.at FROM now WHERE memory_id = $1 AND valid_to IS NULL),"
            " gone AS (DELETE FROM memhub.live_memories WHERE memory_id = $1)"
            " UPDATE memhub.memories SET status = 'DELETED', retired_by = 'judge', retired_at = now.at"
            " FROM now WHERE id = $1",
            ids["restored"],
        )
    assert await checker.check(connection) == []
    before = await taken(settings, tmp_path / "before.jsonl")

    assert await bring(other, tmp_path / "before.jsonl") == 0

    assert without_imports(await taken(other, tmp_path / "after.jsonl")) == before
    assert await checker.check(there) == []
    assert (
        await there.fetchval("SELECT count(*) FROM memhub.live_memories WHERE memory_id IN ($1, $2)", past, still) == 0
    )
    assert await there.fetchval("SELECT count(*) FROM memhub.memory_revisions WHERE purged_at IS NOT NULL") == 3
    assert await there.fetchval("SELECT retired_by FROM memhub.memories WHERE id = $1", ids["restored"]) == "judge"


async def test_what_is_imported_is_found_by_the_same_words(
    settings: Settings,
    other: Settings,
    speaker: Client,
    connection: asyncpg.Connection,
    there: asyncpg.Connection,
    tmp_path: Path,
) -> None:
    # Fails when `document` of add_revisions is not what `remember` makes of a content, its category and its tags.
    await lively.live(speaker)
    await taken(settings, tmp_path / "export.jsonl")
    await there.execute(
        "INSERT INTO memhub.projects (id, tenant, slug, created_at) VALUES ($1, 'acme', 'moving', now())",
        speaker.scope.project_id,
    )
    await there.execute("INSERT INTO memhub.counted_projects VALUES ($1, 0, now())", speaker.scope.project_id)
    await bring(other, tmp_path / "export.jsonl")

    for table in ("memory_revisions", "live_memories"):
        documents = f"SELECT array_agg(document::text ORDER BY memory_id, revision_no) FROM memhub.{table}"
        assert await there.fetchval(documents) == await connection.fetchval(documents)
    assert len(await frequencies.due(there)) == 1


async def test_an_import_is_told_of_in_the_audit_of_its_project(
    settings: Settings, other: Settings, speaker: Client, there: asyncpg.Connection, tmp_path: Path
) -> None:
    # Fails without `_audit` of the writer.
    await lively.live(speaker)
    await taken(settings, tmp_path / "export.jsonl")
    await bring(other, tmp_path / "export.jsonl")

    events = await there.fetch("SELECT client, details::text FROM memhub.audit_events WHERE event = 'imported'")
    assert [event["client"] for event in events] == ["memhub"]
    assert orjson.loads(events[0]["details"]) == {"format": "memhub", "memories": 9}


async def test_an_export_says_the_same_twice(settings: Settings, speaker: Client, tmp_path: Path) -> None:
    await lively.live(speaker)

    assert await taken(settings, tmp_path / "one") == await taken(settings, tmp_path / "two")


async def test_an_import_that_is_run_again_brings_nothing(
    settings: Settings, other: Settings, speaker: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Fails without the look at what is known: `_fresh` of the writer.
    await lively.live(speaker)
    await taken(settings, tmp_path / "export.jsonl")
    await bring(other, tmp_path / "export.jsonl")
    once = await taken(other, tmp_path / "once.jsonl")
    capsys.readouterr()

    assert await bring(other, tmp_path / "export.jsonl") == 0
    assert await taken(other, tmp_path / "twice.jsonl") == once
    assert "9 there already" in capsys.readouterr().out


async def test_a_project_alone_can_be_exported(settings: Settings, speaker: Client, tmp_path: Path) -> None:
    second = await lively.client(speaker.connection, "second")
    await speaker.saved("Of the first.")
    await second.saved("Of the second.")

    kinds = [orjson.loads(line)["kind"] for line in await taken(settings, tmp_path / "export", project="second")]
    assert kinds == ["memhub-export", "project", "memory", "end"]


async def test_memories_can_be_moved_into_another_project_beside_their_own(
    settings: Settings, speaker: Client, connection: asyncpg.Connection, tmp_path: Path
) -> None:
    # Fails when `_id` of the reader keeps the ids: one id would mean two memories of the tenant.
    await lively.live(speaker)
    await taken(settings, tmp_path / "export.jsonl")

    assert await bring(settings, tmp_path / "export.jsonl", project="copy") == 0

    twice = "SELECT count(*) FROM (SELECT id FROM memhub.memories GROUP BY id HAVING count(*) > 1) AS twice"
    assert await connection.fetchval(twice) == 0
    counts = await connection.fetch("SELECT count(*) FROM memhub.memories GROUP BY project_id")
    assert [row["count"] for row in counts] == [9, 9]
    assert await checker.check(connection) == []


async def test_a_live_memory_that_says_the_same_supersedes_what_is_imported(
    settings: Settings, other: Settings, speaker: Client, there: asyncpg.Connection, tmp_path: Path
) -> None:
    # Fails without `_superseded` of the writer: the history would be lost, or the same be said twice.
    ids = await lively.live(speaker)
    await taken(settings, tmp_path / "export.jsonl")
    await there.execute("SET ROLE memhub_server")
    standing = await (await lively.client(there)).saved("deploys go out on thursdays")
    await there.execute("RESET ROLE")

    assert await bring(other, tmp_path / "export.jsonl") == 0

    row = await there.fetchrow("SELECT status, superseded_by FROM memhub.memories WHERE id = $1", ids["revised"])
    assert tuple(row) == ("SUPERSEDED", standing)
    assert await checker.check(there) == []


async def test_an_old_export_does_not_bring_back_what_was_replaced_since(
    settings: Settings, speaker: Client, connection: asyncpg.Connection, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    # Fails without `said_at` of passed_words, or where a memory of our own export with one revision counts as storied.
    old = await speaker.saved("Use errors.Join, not multierr.")
    await taken(settings, tmp_path / "export.jsonl")
    await speaker.saved("Use multierr.", supersedes=(old,))

    assert await bring(settings, tmp_path / "export.jsonl", project="moving") == 0
    assert "1 there already" in capsys.readouterr().out
    assert await bring(settings, tmp_path / "export.jsonl", project="copy") == 0
    assert "1 imported" in capsys.readouterr().out
    await connection.execute("SET ROLE memhub_server")
    second = await lively.client(connection, "second")
    await second.saved("Use multierr.", supersedes=(await second.saved("Use errors.Join, not multierr."),))
    await connection.execute("RESET ROLE")
    assert await bring(settings, tmp_path / "export.jsonl", project="second") == 0
    assert "1 says what was replaced or forgotten here and was left out" in capsys.readouterr().out


@pytest.mark.parametrize("batch_rows", [1, 2_000])
async def test_what_was_said_again_after_it_was_replaced_is_exported_the_same_again(
    settings: Settings, other: Settings, speaker: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    batch_rows: int,
) -> None:  # fmt: skip
    # Fails without the comparison of times in passed_words, and without `least` there for what had expired.
    monkeypatch.setattr("ops.moving.batches.BATCH_ROWS", batch_rows)
    first = await speaker.saved("The queue is RabbitMQ.")
    second = await speaker.saved("The queue is Redis.", supersedes=(first,))
    await speaker.saved("The queue is RabbitMQ.", supersedes=(second,))
    await speaker.forget(await speaker.saved("Lunch is at noon."))
    await speaker.saved("Lunch is at noon.")
    past = await speaker.saved("Soon past.", ttl_days=1 / 86_400_000)
    await speaker.saved("Soon past.")
    await speaker.forget(past)
    before = await taken(settings, tmp_path / "before.jsonl")

    assert await bring(other, tmp_path / "before.jsonl") == 0

    assert without_imports(await taken(other, tmp_path / "after.jsonl")) == before


async def test_a_line_that_is_broken_is_told_and_the_rest_comes(
    settings: Settings,
    other: Settings,
    speaker: Client,
    there: asyncpg.Connection,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # Fails without `except` in `item` of the reader.
    await lively.live(speaker)
    lines = await taken(settings, tmp_path / "export.jsonl")
    broken = [lines[0], lines[1], b"{broken\n", *lines[2:4], lines[4].replace(b'"type":"', b'"type":"X'), *lines[5:]]
    (tmp_path / "broken.jsonl").write_bytes(b"".join(broken))

    assert await bring(other, tmp_path / "broken.jsonl") == 1

    told = capsys.readouterr().err
    assert "line 3: it is no JSON" in told
    assert "line 6: a field is missing or malformed" in told
    assert "RabbitMQ" not in told
    assert await there.fetchval("SELECT count(*) FROM memhub.memories") >= 6
    assert await checker.check(there) == []


async def test_what_the_schema_refuses_is_told_and_the_rest_comes(
    settings: Settings,
    other: Settings,
    speaker: Client,
    there: asyncpg.Connection,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # Fails without the halving in `_write` of the writer.
    ids = await lively.live(speaker)
    lines = await taken(settings, tmp_path / "export.jsonl")
    changed = [
        line.replace(b'"importance":null', b'"importance":101') if str(ids["task"]).encode() in line[:80] else line
        for line in lines
    ]
    (tmp_path / "changed.jsonl").write_bytes(b"".join(changed))

    assert await bring(other, tmp_path / "changed.jsonl") == 1
    assert "line 9: the schema refuses it (importance_check)" in capsys.readouterr().err
    assert await there.fetchval("SELECT count(*) FROM memhub.memories") == 8


async def test_an_export_that_was_cut_is_told(
    settings: Settings, other: Settings, speaker: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Fails without the line `end` of the export.
    await lively.live(speaker)
    lines = await taken(settings, tmp_path / "export.jsonl")
    (tmp_path / "cut.jsonl").write_bytes(b"".join(lines[:-1]))

    assert await bring(other, tmp_path / "cut.jsonl") == 1
    assert "the rest of it is missing" in capsys.readouterr().err


async def test_a_memory_comes_after_its_successor_wherever_they_stand(
    settings: Settings, other: Settings, speaker: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Fails without `again` in importing.run. A batch of one row: each successor is in another batch.
    monkeypatch.setattr("ops.moving.batches.BATCH_ROWS", 1)
    await lively.live(speaker)
    before = await taken(settings, tmp_path / "before.jsonl")

    assert await bring(other, tmp_path / "before.jsonl") == 0
    assert without_imports(await taken(other, tmp_path / "after.jsonl")) == before


async def test_what_is_superseded_by_nobody_known_is_told(
    settings: Settings, other: Settings, speaker: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ids = await lively.live(speaker)
    lines = await taken(settings, tmp_path / "export.jsonl")
    kept = [line for line in lines if str(ids["third"]).encode() not in line[:80]]
    (tmp_path / "kept.jsonl").write_bytes(b"".join(kept))

    assert await bring(other, tmp_path / "kept.jsonl") == 1
    assert capsys.readouterr().err.count("what superseded it did not come, and is not here") == 2


async def test_a_time_that_is_still_to_come_is_refused(
    settings: Settings, other: Settings, speaker: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Fails without the comparison with `newest` in `_plan`: the operator's role may write any time.
    await speaker.saved("From now.")
    lines = await taken(settings, tmp_path / "export.jsonl")
    year = str(orjson.loads(lines[2])["created_at"])[:4].encode()
    (tmp_path / "late.jsonl").write_bytes(b"".join([*lines[:2], lines[2].replace(year + b"-", b"2999-"), lines[3]]))

    assert await bring(other, tmp_path / "late.jsonl") == 1
    assert "a time that is still to come" in capsys.readouterr().err


async def test_a_dry_run_tells_the_same_and_writes_nothing(
    settings: Settings,
    other: Settings,
    speaker: Client,
    there: asyncpg.Connection,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # Fails without the looks at `_dry_run` in the writer.
    await lively.live(speaker)
    await taken(settings, tmp_path / "export.jsonl")

    assert await bring(other, tmp_path / "export.jsonl", dry_run=True) == 0
    assert "nothing was written (memhub): 9 would be imported, 1 project would be made" in capsys.readouterr().out
    assert await there.fetchval("SELECT (SELECT count(*) FROM memhub.projects) + count(*) FROM memhub.memories") == 0


async def test_an_export_that_fails_leaves_no_file(settings: Settings, speaker: Client, tmp_path: Path) -> None:
    # Fails when `written` opens the file under its own name.
    (tmp_path / "folder").mkdir()

    with pytest.raises(FileRefused):
        await taken(settings, tmp_path / "folder")
    assert names_in(tmp_path) == ["folder"]


async def _two_exports(settings: Settings, speaker: Client, folder: Path) -> tuple[list[bytes], list[bytes]]:
    """Of two projects of the same tenant, a memory in each."""
    second = await lively.client(speaker.connection, "second")
    await speaker.saved("Of the first.")
    await second.saved("Of the second.")
    first = await taken(settings, folder / "first.jsonl", project="moving")
    return first, await taken(settings, folder / "second.jsonl", project="second")


_WHERE = """
SELECT slug, content FROM memhub.memory_revisions JOIN memhub.projects ON projects.id = project_id ORDER BY content
"""


async def test_of_two_exports_in_one_file_each_memory_comes_to_its_own_project(
    settings: Settings, other: Settings, speaker: Client, there: asyncpg.Connection, tmp_path: Path
) -> None:
    first, second = await _two_exports(settings, speaker, tmp_path)
    (tmp_path / "joined.jsonl").write_bytes(b"".join(first + second))

    assert await bring(other, tmp_path / "joined.jsonl") == 0
    assert [tuple(row) for row in await there.fetch(_WHERE)] == [
        ("moving", "Of the first."),
        ("second", "Of the second."),
    ]


@pytest.mark.parametrize("dry_run", [False, True])
async def test_a_memory_without_the_line_of_its_project_comes_to_no_other_one(
    settings: Settings,
    other: Settings,
    speaker: Client,
    there: asyncpg.Connection,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    dry_run: bool,
) -> None:
    # Fails without `_home` in `write`: a dry run would promise to import it.
    first, second = await _two_exports(settings, speaker, tmp_path)
    kept = [line for line in second if b'"kind":"project"' not in line]
    (tmp_path / "joined.jsonl").write_bytes(b"".join(first + kept))

    assert await bring(other, tmp_path / "joined.jsonl", dry_run=dry_run) == 1
    told = capsys.readouterr()
    assert f"line {len(first) + 2}: its project has no line before it, and is not here" in told.err
    assert "1 imported" in told.out or "1 would be imported" in told.out
    assert [row["content"] for row in await there.fetch(_WHERE)] == ([] if dry_run else ["Of the first."])


async def test_a_memory_without_the_line_of_its_project_comes_back_to_that_where_it_is_here(
    settings: Settings, other: Settings, speaker: Client, there: asyncpg.Connection, tmp_path: Path
) -> None:
    first, second = await _two_exports(settings, speaker, tmp_path)
    kept = [line for line in second if b'"kind":"project"' not in line]
    (tmp_path / "begun.jsonl").write_bytes(b"".join([second[0], second[1], second[-1]]))
    (tmp_path / "joined.jsonl").write_bytes(b"".join(first + kept))

    assert await bring(other, tmp_path / "begun.jsonl") == 0
    assert await bring(other, tmp_path / "joined.jsonl") == 0
    assert [tuple(row) for row in await there.fetch(_WHERE)] == [
        ("moving", "Of the first."),
        ("second", "Of the second."),
    ]


async def test_what_belongs_to_a_project_of_another_tenant_is_not_put_there(
    settings: Settings,
    speaker: Client,
    connection: asyncpg.Connection,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # Fails without the refused project among `_homes`: only its line would be refused, and its memories written.
    await speaker.saved("Of acme.")
    lines = await taken(settings, tmp_path / "export.jsonl")
    written = b"".join(lines).replace(b'"tenant":"acme"', b'"tenant":"other"').replace(b"Of acme.", b"Of the other.")
    known = await connection.fetchval("SELECT id::text FROM memhub.memories")
    (tmp_path / "export.jsonl").write_bytes(written.replace(known.encode(), str(uuid4()).encode()))

    assert await bring(settings, tmp_path / "export.jsonl") == 1
    assert "its project was refused: another tenant has one of this id" in capsys.readouterr().err
    assert [row["content"] for row in await connection.fetch(_WHERE)] == ["Of acme."]


async def test_a_memory_without_the_line_of_its_project_comes_to_no_project_of_another_tenant(
    settings: Settings,
    speaker: Client,
    connection: asyncpg.Connection,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # Fails without `is_own` in `_home` of the writer: whoever knows an id could write into its project.
    await speaker.saved("Of acme.")
    lines = await taken(settings, tmp_path / "export.jsonl")
    written = b"".join(line for line in lines if b'"kind":"project"' not in line).replace(b"Of acme.", b"Planted.")
    known = await connection.fetchval("SELECT id::text FROM memhub.memories")
    (tmp_path / "export.jsonl").write_bytes(written.replace(known.encode(), str(uuid4()).encode()))

    assert await bring(settings.model_copy(update={"tenant": "other"}), tmp_path / "export.jsonl") == 1
    assert "its project has no line before it, and is not here" in capsys.readouterr().err
    assert [row["content"] for row in await connection.fetch(_WHERE)] == ["Of acme."]


async def test_what_belongs_to_a_project_whose_line_cannot_be_read_is_put_nowhere(
    settings: Settings,
    speaker: Client,
    connection: asyncpg.Connection,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # Fails without what the reader tells `_refused`: they came to the project of that id here.
    await speaker.saved("Said here.")
    lines = await taken(settings, tmp_path / "export.jsonl")
    lines[1] = lines[1].replace(b'"slug":"moving"', b'"slug":7')
    known = await connection.fetchval("SELECT id::text FROM memhub.memories")
    lines[2] = lines[2].replace(known.encode(), str(uuid4()).encode()).replace(b"Said here.", b"Said there.")
    (tmp_path / "export.jsonl").write_bytes(b"".join(lines))

    assert await bring(settings, tmp_path / "export.jsonl") == 1
    assert "line 3: its project was refused" in capsys.readouterr().err
    assert [row["content"] for row in await connection.fetch(_WHERE)] == ["Said here."]


async def test_an_export_that_was_cut_is_told_also_before_another(
    settings: Settings, other: Settings, speaker: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Fails without `whole` in the reader.
    first, second = await _two_exports(settings, speaker, tmp_path)
    (tmp_path / "joined.jsonl").write_bytes(b"".join(first[:-1] + second))

    assert await bring(other, tmp_path / "joined.jsonl") == 1
    assert f"line {len(first)}: the export before this line has no closing line" in capsys.readouterr().err


@pytest.mark.parametrize("other_line", [(b'"slug":"moving"', b'"slug":7'), (b'"tenant":"acme"', b'"tenant":"other"')])
async def test_what_is_read_again_is_of_its_project_as_the_line_before_it_told(
    settings: Settings,
    other: Settings,
    speaker: Client,
    there: asyncpg.Connection,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    other_line: tuple[bytes, bytes],
) -> None:
    # Fails without the place asked for in `at` of Declared: a later line refused what an earlier one let in.
    monkeypatch.setattr("ops.moving.batches.BATCH_ROWS", 1)
    old = await speaker.saved("The old one.")
    await speaker.saved("The new one.", supersedes=(old,))
    head, project, *memories, end = await taken(settings, tmp_path / "export.jsonl")
    memories.sort(key=lambda line: b'"superseded_by":null' in line)
    lines = [head, project, *memories, end, head, project.replace(*other_line), end]
    (tmp_path / "joined.jsonl").write_bytes(b"".join(lines))

    assert await bring(other, tmp_path / "joined.jsonl") == 1
    assert [row["content"] for row in await there.fetch(_WHERE)] == ["The new one.", "The old one."]
