"""`memhub calibrate` with a worker that answers for the model."""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from tests.memories.clients import Client
from tests.ops import lively, memhub
from tests.workers.fake import FakeEmbedder
from tests.workers.processes import environment, model_server, worker
from tests.workers.waiting import until

FLOOR = "SELECT floor FROM memhub.embedding_models"
ALL_EMBEDDED = "SELECT (SELECT count(DISTINCT memory_id) FROM memhub.live_vectors) = 25"


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """Shorter than tmp_path, whose name leaves no room for a socket."""
    with tempfile.TemporaryDirectory(prefix="mh-", dir="/tmp") as name:
        yield Path(name)


async def test_the_floor_is_shown_as_it_was_and_as_it_is_and_written_unless_only_asked(
    connection: asyncpg.Connection, database_url: str, data_dir: Path
) -> None:
    speaker: Client = await lively.client(connection)
    for number in range(25):
        await speaker.saved(f"Fact number {number} of a project that says something.")
    async with model_server(FakeEmbedder()) as provider:
        settings = environment(database_url, data_dir, **provider, MEMHUB_TENANT="acme")
        named = {name: value for name, value in settings.items() if name.startswith("MEMHUB_")}
        with worker(environment=settings):
            await until(connection, ALL_EMBEDDED)
            asked = await asyncio.to_thread(memhub.run, "calibrate", "--project", "moving", "--dry-run", **named)
            unchanged = await connection.fetchval(FLOOR)
            far = await asyncio.to_thread(memhub.run, "calibrate", "--project", "moving", **named)
            untouched = await connection.fetchval(FLOOR)
            done = await asyncio.to_thread(memhub.run, "calibrate", "--project", "moving", "--yes", **named)
            written = await connection.fetchval(FLOOR)
            back = await asyncio.to_thread(memhub.run, "calibrate", "--floor", "0.25", **named)
            refused = await asyncio.to_thread(memhub.run, "calibrate", "--floor", "1.5", **named)

    assert (asked.stderr, asked.returncode, unchanged) == ("", 0, 0.25)
    shown = re.fullmatch(r"fake: floor 0\.250 → (0\.\d{3}) \(not written\)", asked.stdout.splitlines()[0])
    assert shown is not None
    # Fails without `far` in `_write`: a floor of one project, which it called far itself, held for all tenants.
    assert (far.returncode, untouched, far.stderr.count("\n")) == (1, 0.25, 1)
    assert f"`memhub calibrate --yes` or `memhub calibrate --floor {shown[1]}`." in far.stderr
    assert far.stdout.startswith(asked.stdout.splitlines()[0])
    assert "sets it back" not in far.stdout
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout.startswith(f"fake: floor 0.250 → {shown[1]}\nFrom 25 sentences of moving and 600 pairs")
    assert "`memhub calibrate --floor 0.250` sets it back" in done.stdout
    assert written == pytest.approx(float(shown[1]))
    assert (back.returncode, await connection.fetchval(FLOOR)) == (0, 0.25)
    assert back.stdout.startswith(f"fake: floor {shown[1]} → 0.250\n")
    assert (refused.returncode, "--floor: must be 0.02 to 0.95" in refused.stderr) == (2, True)


async def test_without_an_answer_one_line_says_so(
    connection: asyncpg.Connection, database_url: str, data_dir: Path
) -> None:
    await lively.client(connection)
    place = {"MEMHUB_DATABASE_URL": database_url, "MEMHUB_DATA_DIR": str(data_dir), "MEMHUB_TENANT": "acme"}
    ran = memhub.run("calibrate", "--project", "moving", **place)
    assert (ran.returncode, ran.stderr.count("\n")) == (1, 1)
    assert "There is no embedding model to calibrate." in ran.stderr

    other = memhub.run("calibrate", "--project", "nosuch", **place)
    assert (other.returncode, other.stderr.count("\n")) == (1, 1)
