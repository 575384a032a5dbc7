"""What an import reads, gathered while the batch before is written."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest

from ops.moving.batches import batches
from ops.moving.detection import Format
from ops.moving.entries import Context
from ops.moving.lives import Item, Place, Problem
from ops.moving.origins import require_one
from ops.moving.sources import Source
from tests.ops.test_forms import lines

NOTHING = 50


async def test_the_writing_has_its_turn_after_each_item_that_is_read() -> None:
    # Fails without `sleep` in `batches`: the database's answer would lie until a whole batch was read.
    read: list[int] = []

    def items() -> Iterator[Item | None]:
        for number in range(1, 7):
            read.append(number)
            yield None if number % 2 else Problem(Place(f"line {number}"), "it is no JSON")

    async with turns(read) as seen:
        (batch,) = [batch async for batch in batches(items())]

    assert len(batch.problems) == 3
    assert {1, 2, 3, 4, 5, 6} <= set(seen)


async def test_what_was_read_is_told_of_though_it_gave_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    # Fails without BATCH_RECORDS_MAX in `batches`: the bar stood until a thousand memories were found.
    monkeypatch.setattr("ops.moving.batches.BATCH_RECORDS_MAX", 10)
    assert len([batch async for batch in batches(iter([None] * 35))]) == 4


def of_mcp_memory(folder: Path) -> tuple[Path, Format, str | None]:
    other = [{"tenant_id": "shop", "id": str(number), "content": "Theirs."} for number in range(NOTHING)]
    own = {"tenant_id": "acme", "id": "1", "content": "Ours."}
    (folder / "rows.jsonl").write_text(lines([*other, own]))
    return folder / "rows.jsonl", Format.MCP_MEMORY, "acme"


def of_memory_mcp(folder: Path) -> tuple[Path, Format, str | None]:
    primers = [{"category": "reference.system.primer", "content": "", "metadata": {}}] * NOTHING
    own = {"category": "shop.rules", "content": "Ours.", "metadata": {}}
    (folder / "memories.json").write_text(json.dumps({"memories": [*primers, own]}))
    return folder / "memories.json", Format.MEMORY_MCP, None


def of_the_service(folder: Path) -> tuple[Path, Format, str | None]:
    with closing(sqlite3.connect(folder / "its.db")) as opened:
        opened.execute("CREATE TABLE memories (content_hash TEXT, content TEXT, deleted_at REAL)")
        opened.executemany("INSERT INTO memories VALUES (?, 'Gone.', 1)", [(str(n),) for n in range(NOTHING)])
        opened.execute("INSERT INTO memories VALUES ('own', 'Ours.', NULL)")
        opened.commit()
    return folder / "its.db", Format.MCP_MEMORY_SERVICE, None


def of_markdown(folder: Path) -> tuple[Path, Format, str | None]:
    for number in range(NOTHING):
        (folder / f"{number}.md").write_text("\n")
    (folder / "own.md").write_text("- Ours.\n")
    return folder, Format.MARKDOWN, None


def of_ours(folder: Path) -> tuple[Path, Format, str | None]:
    header = {"kind": "memhub-export", "version": 1}
    end = {"kind": "end"}
    (folder / "export.jsonl").write_text(lines([*[header, end] * NOTHING, header, {"kind": "other"}, end]))
    return folder / "export.jsonl", Format.MEMHUB, None


@pytest.mark.parametrize("written", [of_mcp_memory, of_memory_mcp, of_the_service, of_markdown, of_ours])
def test_a_record_that_gives_nothing_is_one_that_was_read(
    written: Callable[[Path], tuple[Path, Format, str | None]], tmp_path: Path
) -> None:
    # Fails without a None in `_lives`, `_made` or `again` of sources or `items` of ours: of 300,000 lines of another
    # tenant the loop had no turn for 25 s, in which a batch kept its locks and Ctrl-C waited.
    path, form, origin = written(tmp_path)
    context = Context(format=form, project_id=UUID(int=1), now=datetime.now(UTC))
    source = Source(path, form, context, moved=True, origin=origin)

    read = list(source.items())
    (own,) = [item for item in read if item is not None]
    assert len(read) > NOTHING
    again = list(source.again([own.place]))
    assert [item for item in again if item is not None] == [own]
    # A line is read by its place, without those before it.
    assert len(again) == 1 if path.suffix == ".jsonl" else len(again) > NOTHING


async def test_a_look_at_whom_memories_belong_to_leaves_the_loop_its_turns(tmp_path: Path) -> None:
    # Fails without `sleep` in `require_one`, or a None in `origins`: Ctrl-C waited until the whole file was read.
    path, form, origin = of_mcp_memory(tmp_path)
    async with turns([]) as seen:
        await require_one(path, form, origin, told="rows", is_lines=None)
    assert len(seen) >= NOTHING


@asynccontextmanager
async def turns(read: list[int]) -> AsyncIterator[list[int]]:
    """How much was read at each turn of the loop."""
    seen: list[int] = []

    async def write() -> None:
        while True:
            seen.append(len(read))
            await asyncio.sleep(0)

    writing = asyncio.create_task(write())
    yield seen
    writing.cancel()
