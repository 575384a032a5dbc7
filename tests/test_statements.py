"""The loader of named statements, and every statement against the migrated schema."""

from __future__ import annotations

import asyncpg
import pytest

from shared import statements

_FILE = """
-- name: first
-- Why it is so. $1: id int
SELECT 1
    -- inside
    FROM memories;

-- name: second
SELECT 2
"""


def test_statements_come_by_name_without_comments_and_semicolon() -> None:
    assert dict(statements.parse("sample", _FILE)) == {
        "first": "SELECT 1\n    FROM memories",
        "second": "SELECT 2",
    }


def test_a_missing_name_raises_with_the_names_that_exist() -> None:
    with pytest.raises(KeyError, match=r"sample\.sql has no statement third; it has: first, second"):
        statements.parse("sample", _FILE)["third"]


@pytest.mark.parametrize("text", ["-- name: first\n-- nothing\n", "-- name: a\nSELECT 1;\n-- name: a\nSELECT 2;"])
def test_an_empty_or_repeated_statement_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="empty or written twice"):
        statements.parse("sample", text)


def test_a_missing_file_raises() -> None:
    with pytest.raises(FileNotFoundError):
        statements.load("no_such_file")


@pytest.mark.parametrize(
    ("stem", "name"), [(stem, name) for stem in statements.stems() for name in statements.load(stem)]
)
async def test_every_statement_prepares_on_the_migrated_schema(
    connection: asyncpg.Connection, stem: str, name: str
) -> None:
    await connection.prepare(statements.load(stem)[name])
