"""The committed dump shows a reviewer what an edit of a migration does to the schema."""

from __future__ import annotations

import os

from tests.schema import dump


def test_the_committed_dump_is_what_the_migrations_add_up_to(database_url: str) -> None:
    version = os.environ.get("MEMHUB_TEST_POSTGRES", "18")

    assert dump.dump(database_url, version=version) == dump.COMMITTED.read_text(), "run `make schema`"
