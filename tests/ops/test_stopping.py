"""Imports that end in the middle, and what they say is in."""

from __future__ import annotations

import json
from pathlib import Path

import asyncpg
import pytest

from ops.importing import AGAIN, Stopped
from ops.moving.batches import BATCH_ROWS
from shared.errors import BackendBusy
from shared.settings import Settings
from tests.ops.test_round_trip import bring

# As PostgreSQL refuses a write where its disk is full.
FULL = """
CREATE FUNCTION memhub.full() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM added WHERE content = 'The last straw.') THEN
        RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER full_ AFTER INSERT ON memhub.memory_revisions REFERENCING NEW TABLE AS added
FOR EACH STATEMENT EXECUTE FUNCTION memhub.full();
"""


async def test_a_full_disk_in_the_middle_tells_what_is_in(
    settings: Settings, connection: asyncpg.Connection, tmp_path: Path
) -> None:
    # Fails without `_counting`: "nothing was written" is true of the last batch alone.
    await connection.execute(FULL)
    said = [f"Fact {number}." for number in range(BATCH_ROWS)]
    (tmp_path / "any.jsonl").write_text(
        "".join(json.dumps({"content": text}) + "\n" for text in (*said, "The last straw."))
    )
    with pytest.raises(Stopped) as told:
        await bring(settings, tmp_path / "any.jsonl", project="moving")
    assert told.value.message == (
        "The database is out of resources (DiskFullError), after at least 1,000 memories came in."
    )
    assert told.value.next.endswith(AGAIN)
    assert await connection.fetchval("SELECT count(*) FROM memhub.memories") == BATCH_ROWS

    with pytest.raises(BackendBusy, match="nothing was written"):
        await bring(settings, tmp_path / "any.jsonl", project="moving")
    await connection.execute("DROP TRIGGER full_ ON memhub.memory_revisions")
    assert await bring(settings, tmp_path / "any.jsonl", project="moving") == 0
    assert await connection.fetchval("SELECT count(*) FROM memhub.memories") == BATCH_ROWS + 1
