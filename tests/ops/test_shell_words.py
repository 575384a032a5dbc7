"""What people at a shell are told names what they can type there, and counts in their language."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import asyncpg
import pytest

from ops import ports
from ops.words import counted, memories
from shared import api_tokens
from tests.dashboard import many
from tests.memories.clients import Client
from tests.ops import memhub


@pytest.mark.parametrize("command", ["export --project nope", "token create --tenant acme --project nope"])
async def test_a_project_that_is_not_there_is_answered_with_the_option(
    command: str, speaker: Client, database_url: str
) -> None:
    told = memhub.run(*command.split(), MEMHUB_DATABASE_URL=database_url, MEMHUB_TENANT=speaker.scope.tenant)
    assert (told.returncode, told.stdout) == (1, "")
    assert told.stderr.startswith(f"memhub: --project: there is no project nope. Projects: {speaker.scope.slug}. ")
    assert told.stderr.endswith("Name one of them with --project.\n")


async def test_calibrate_without_a_project_asks_for_the_option(
    speaker: Client, database_url: str, tmp_path: Path
) -> None:
    where = {"MEMHUB_DATABASE_URL": database_url, "MEMHUB_TENANT": speaker.scope.tenant}
    told = memhub.run("calibrate", MEMHUB_DATA_DIR=str(tmp_path), **where)
    assert told.returncode == 1
    assert told.stderr.endswith("Name one of them with --project.\n")


async def test_a_tenant_without_projects_is_no_empty_export(speaker: Client, database_url: str) -> None:
    told = memhub.run("export", "--tenant", "nope", MEMHUB_DATABASE_URL=database_url)
    assert (told.returncode, told.stdout) == (1, "")
    assert told.stderr == f"memhub: --tenant: nope has no project. Name one that has: {speaker.scope.tenant}.\n"


async def test_the_first_token_says_what_changes_with_it(connection: asyncpg.Connection, database_url: str) -> None:
    first, second = (
        memhub.run("token", "create", "--tenant", "acme", MEMHUB_DATABASE_URL=database_url).stderr for _ in range(2)
    )
    assert "from now on the server over HTTP and the dashboard ask everybody" in first
    assert "from now on" not in second


def test_doctor_does_not_lead_to_itself() -> None:
    told = memhub.run("doctor", "--json", MEMHUB_DATABASE_URL="postgresql://127.0.0.1:1/none")
    [database] = [finding for finding in json.loads(told.stdout) if finding["name"] == "database"]
    assert "memhub doctor" not in database["mend"]
    assert "MEMHUB_DATABASE_URL" in database["mend"]


def test_a_queue_that_there_is_not_is_answered_with_those_that_there_are() -> None:
    told = memhub.run("jobs", "list", "--queue", "foo")
    assert told.returncode == 2
    assert "embed, counters, retention" in told.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("up --port x", "'--port': must be a whole number"),
        ("up --port 0", "'--port': must be at least 1"),
        ("jobs list --limit 2000", "'--limit': must be at most 1000"),
        ("connect foo", "'CLIENT': 'foo' is not one of 'claude-code'"),
        ("import a --format foo", "'--format': 'foo' is not one of 'auto', 'memhub'"),
    ],
)
def test_a_bad_argument_is_told_in_plain_words(arguments: str, told: str) -> None:
    ran = memhub.run(*arguments.split())
    assert (ran.returncode, told in ran.stderr) == (2, True), ran.stderr


@pytest.mark.parametrize(
    ("content", "advice"), [(b"PGDMP\x01\x0f", "memhub restore"), (b"", "it is empty")], ids=["backup", "empty"]
)
def test_a_file_that_is_no_import_says_what_it_is(content: bytes, advice: str, tmp_path: Path) -> None:
    file = tmp_path / "all.backup"
    file.write_bytes(content)
    told = memhub.run("import", str(file), "--project", "app", MEMHUB_DATA_DIR=str(tmp_path / "data"))
    assert (told.returncode, advice in told.stderr) == (1, True), told.stderr


@pytest.mark.parametrize(
    ("failure", "advice"), [(errno.EACCES, "from 1024 on"), (errno.EADDRINUSE, "end the process that has it")]
)
def test_a_port_that_cannot_be_had_says_which_can(failure: int, advice: str) -> None:
    assert advice in ports.refused("127.0.0.1", 80, OSError(failure, os.strerror(failure))).line


def test_bad_settings_are_told_in_our_words() -> None:
    told = memhub.run("status", MEMHUB_EMBEDDING_PROVIDER="x", MEMHUB_EMBEDDER_URL="x", MEMHUB_OAUTH_ISSUER="x")
    assert "MEMHUB_EMBEDDING_PROVIDER: must be one of fastembed, openai, bedrock, none;" in told.stderr
    assert "MEMHUB_EMBEDDER_URL: must be a URL such as" in told.stderr
    assert "Input should" not in told.stderr


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ({"content": "a", "created_at": "2999-01-01"}, "line 1: created_at: it tells of a time that is still to come"),
        ({"content": "a", "retired_at": "2999-01-01"}, "line 1: retired_at: it tells of a time that is still to come"),
        ({"text": "a", "when": 1}, "line 1: it has no content; unknown fields: text, when"),
    ],
)
async def test_a_line_that_cannot_be_is_refused_with_what_is_wrong(
    line: dict[str, object], told: str, database_url: str, tmp_path: Path
) -> None:
    file = tmp_path / "lines.jsonl"
    file.write_text(json.dumps(line) + "\n")
    ran = memhub.run("import", str(file), "--project", "app", "--format", "jsonl", MEMHUB_DATABASE_URL=database_url)
    assert (ran.returncode, told in ran.stderr) == (1, True), ran.stderr


@pytest.mark.parametrize(("count", "said"), [(0, "0 jobs"), (1, "1 job"), (2000, "2,000 jobs")])
def test_one_is_singular(count: int, said: str) -> None:
    assert counted(count, "job") == said
    assert memories(1) == "1 memory"


async def test_of_many_tokens_the_newest_are_listed_and_the_cut_is_told(
    connection: asyncpg.Connection, database_url: str
) -> None:
    # Fails without DESC in `list` of api_tokens.sql, or without _CUT.
    await many.tokens(connection, api_tokens.LISTED_MAX)
    await api_tokens.create(connection, "acme", name="the newest")
    ran, of_one_tenant = (
        memhub.run("token", "list", "--json", *of, MEMHUB_DATABASE_URL=database_url)
        for of in ((), ("--tenant", "acme"))
    )

    assert json.loads(ran.stdout)[0]["name"] == "the newest"
    assert "the newest 1,000; older ones are not listed" in ran.stderr
    assert (len(json.loads(of_one_tenant.stdout)), of_one_tenant.stderr) == (1, "")
