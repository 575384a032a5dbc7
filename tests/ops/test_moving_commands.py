"""`memhub export` and `memhub import` as people run them: what fails, what is interrupted, what is killed."""

from __future__ import annotations

import asyncio
import json
import signal
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import asyncpg
import psycopg
import pytest

from ops import moving_commands
from ops.moving.batches import BATCH_ROWS
from ops.moving.detection import Format
from shared import checker, projects
from shared.settings import Settings
from tests.memories.clients import TENANT, Client
from tests.ops import memhub
from tests.ops.test_forms import lines
from tests.ops.test_round_trip import bring, names_in

MANY = 3_000


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """A file whose import takes some batches."""
    path = tmp_path / "many.jsonl"
    path.write_text(lines([{"id": str(n), "content": f"Host h{n} serves shard {n % 97}."} for n in range(MANY)]))
    return path


@asynccontextmanager
async def held_at_its_second_batch(connection: asyncpg.Connection) -> AsyncIterator[None]:
    """An import that begins in the block has written one batch when it ends, and stands in the next."""
    await connection.execute(
        f"""CREATE FUNCTION memhub.hold() RETURNS trigger LANGUAGE plpgsql AS $$
           BEGIN
               IF (SELECT count(*) FROM memhub.memories) > {BATCH_ROWS} THEN PERFORM pg_advisory_xact_lock(1); END IF;
               RETURN NULL;
           END $$;
           CREATE TRIGGER hold AFTER INSERT ON memhub.memories EXECUTE FUNCTION memhub.hold();
           SELECT pg_advisory_lock(1)"""
    )
    yield
    await until(connection, "SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")


async def until(connection: asyncpg.Connection, sql: str) -> None:
    async with asyncio.timeout(memhub.TIMEOUT_S):
        while not await connection.fetchval(sql):
            pass


async def test_an_import_that_was_killed_goes_on_without_a_double(
    connection: asyncpg.Connection, database_url: str, many: Path
) -> None:
    # Fails when ids are random (`memory_id` of entries) or a batch is more than one transaction.
    async with held_at_its_second_batch(connection):
        process = memhub.start("import", str(many), "--project", "many", MEMHUB_DATABASE_URL=database_url)
    process.kill()
    process.communicate()
    await connection.execute("SELECT pg_advisory_unlock(1)")
    before = await connection.fetchval("SELECT count(*) FROM memhub.memories")

    again = memhub.run("import", str(many), "--project", "many", MEMHUB_DATABASE_URL=database_url)

    assert again.returncode == 0, again.stderr
    assert before == BATCH_ROWS
    assert f"{MANY - before:,} imported, {before:,} there already" in again.stdout
    for table in ("memories", "memory_revisions", "live_memories", "attestations"):
        assert await connection.fetchval(f"SELECT count(*) FROM memhub.{table}") == MANY
    assert await connection.fetchval("SELECT count(*) FROM memhub.audit_events WHERE event = 'imported'") == MANY
    assert await checker.check(connection) == []


async def test_an_import_that_is_interrupted_says_how_it_goes_on(
    connection: asyncpg.Connection, database_url: str, many: Path
) -> None:
    async with held_at_its_second_batch(connection):
        process = memhub.start("import", str(many), "--project", "many", MEMHUB_DATABASE_URL=database_url)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=memhub.TIMEOUT_S)

    assert (process.returncode, out) == (130, "")
    assert err == "memhub: interrupted. Run the same command again: what is in already is skipped.\n"


async def test_what_a_client_says_at_the_same_moment_is_attested(
    settings: Settings, speaker: Client, connection: asyncpg.Connection, tmp_path: Path
) -> None:
    # Fails without races.run in `_write` of the writer: the client's row was not there when the batch was planned.
    one = tmp_path / "one.jsonl"
    one.write_text(lines([{"id": "7", "content": "Host h7 serves shard 7."}]))
    async with speaker.connection.transaction():
        said = await speaker.saved("Host h7 serves shard 7.")
        importing = asyncio.create_task(bring(settings, one, project="moving"))
        await until(connection, "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'transactionid'")

    assert await importing == 0
    kinds = await connection.fetch("SELECT status FROM memhub.memories WHERE superseded_by = $1", said)
    assert kinds == [("SUPERSEDED",)]
    assert await checker.check(connection) == []


async def test_an_export_goes_to_standard_output_and_an_import_comes_from_standard_input(
    speaker: Client, database_url: str, other_url: str, tmp_path: Path
) -> None:
    await speaker.saved("Through a pipe.")
    exported = memhub.run("export", MEMHUB_DATABASE_URL=database_url)

    assert [json.loads(line)["kind"] for line in exported.stdout.splitlines()][-1] == "end"
    assert exported.stderr == "Exported 1 memory.\n"
    imported = memhub.run("import", "-", stdin=exported.stdout, MEMHUB_DATABASE_URL=other_url)
    assert imported.stdout == "Import (memhub): 1 imported, 1 project made.\n", imported.stderr


async def test_a_dash_is_standard_output_and_a_file_of_that_name_is_named_by_its_folder(
    speaker: Client, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fails without the comparison with - in ops/moving_commands.py, and where it is one of paths."""
    monkeypatch.chdir(tmp_path)
    await speaker.saved("Through a pipe.")
    exported = memhub.run("export", "--output", "-", MEMHUB_DATABASE_URL=database_url)

    assert (exported.stderr, names_in(tmp_path)) == ("Exported 1 memory.\n", [])
    assert [json.loads(line)["kind"] for line in exported.stdout.splitlines()][-1] == "end"
    named = memhub.run("export", "--output", "./-", MEMHUB_DATABASE_URL=database_url)
    assert (named.stdout, names_in(tmp_path)) == ("", ["-"])


async def test_a_full_disk_is_told_and_leaves_nothing(speaker: Client, database_url: str, small_disk: Path) -> None:
    # Fails when `passing` leaves its file, or `naming` does not look at ENOSPC.
    for number in range(40):
        await speaker.saved(f"Number {number}: " + "much " * 500)

    ran = memhub.run("export", "-o", str(small_disk / "export.jsonl"), MEMHUB_DATABASE_URL=database_url)

    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith(f"memhub: {small_disk / 'export.jsonl'}: the disk is full")
    assert names_in(small_disk) == []


async def test_an_existing_file_survives_an_export_that_fails(
    speaker: Client, database_url: str, small_disk: Path
) -> None:
    (small_disk / "export.jsonl").write_text("the one of yesterday")
    for number in range(40):
        await speaker.saved(f"Number {number}: " + "much " * 500)
    memhub.run("export", "--force", "-o", str(small_disk / "export.jsonl"), MEMHUB_DATABASE_URL=database_url)

    assert (small_disk / "export.jsonl").read_text() == "the one of yesterday"


async def test_an_existing_file_is_replaced_when_that_is_asked_for_alone(
    speaker: Client, database_url: str, tmp_path: Path
) -> None:
    # Fails without `require_free`.
    await speaker.saved("Once.")
    file = tmp_path / "export.jsonl"
    file.write_text("the one of yesterday")

    refused = memhub.run("export", "-o", str(file), MEMHUB_DATABASE_URL=database_url)
    assert refused.returncode == 1
    assert refused.stderr.startswith(f"memhub: {file}: there is a file already; it was left as it is.")
    assert file.read_text() == "the one of yesterday"
    assert memhub.run("export", "--force", "-o", str(file), MEMHUB_DATABASE_URL=database_url).returncode == 0
    assert file.read_text().startswith("{")


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_what_is_no_file_is_never_replaced(force: tuple[str, ...], database_url: str, tmp_path: Path) -> None:
    ran = memhub.run("export", *force, "-o", str(tmp_path), MEMHUB_DATABASE_URL=database_url)

    assert ran.returncode == 1
    assert ran.stderr == f"memhub: {tmp_path}: it is there, and no file. Name a file.\n"


async def test_a_project_that_more_tenants_have_is_exported_of_the_one_that_is_named(
    speaker: Client, server_connection: asyncpg.Connection, database_url: str
) -> None:
    # Fails without `tenants_with`: the tenant of the settings was taken without a word.
    await speaker.saved("Ours.")
    other = await projects.use(server_connection, "globex", speaker.author, project="moving", aliases={}, create=True)
    await Client(server_connection, other.project, speaker.author).saved("Theirs.")

    ran = memhub.run("export", "--project", "moving", MEMHUB_DATABASE_URL=database_url)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == (
        f"memhub: --project: more than one tenant has a project moving: {TENANT}, globex. Say whose with --tenant.\n"
    )
    ran = memhub.run("export", "--project", "moving", "--tenant", "globex", MEMHUB_DATABASE_URL=database_url)
    assert "Theirs." in ran.stdout
    assert "Ours." not in ran.stdout


@pytest.mark.parametrize("command", ["export", "import"])
def test_every_command_has_its_help(command: str) -> None:
    ran = memhub.run(command, "--help")

    assert ran.returncode == 0
    assert "--project" in ran.stdout


@pytest.mark.parametrize("command", [("import",), ("import", "x", "--format", "xml"), ("export", "--colour")])
def test_bad_arguments_are_a_usage_error(command: tuple[str, ...]) -> None:
    assert memhub.run(*command).returncode == 2


@pytest.mark.parametrize("command", [("export",), ("import", "FILE", "--project", "x")])
def test_no_database_is_one_line(command: tuple[str, ...], many: Path, tmp_path: Path) -> None:
    arguments = [str(many) if argument == "FILE" else argument for argument in command]
    url = f"postgresql://nobody@{quote(str(tmp_path), safe='')}/none"
    ran = memhub.run(*arguments, MEMHUB_DATABASE_URL=url)

    assert ran.returncode == 1
    assert ran.stderr.startswith("memhub: The database cannot be reached: ")
    assert ran.stderr.count("\n") == 1


def test_no_embedded_database_is_not_made_for_an_export(tmp_path: Path) -> None:
    ran = memhub.run("export", MEMHUB_DATA_DIR=str(tmp_path / "none"))

    assert ran.returncode == 1
    assert ran.stderr.startswith(f"memhub: There is no database in {tmp_path / 'none'} yet.")
    assert not (tmp_path / "none").exists()


def test_no_permission_to_act_as_the_operator_is_one_line(database_url: str) -> None:
    url = database_url.replace("//postgres@", "//outside@")
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute("DROP ROLE IF EXISTS outside")
        owner.execute("CREATE ROLE outside LOGIN")
        owner.execute("GRANT memhub_server TO outside")
        ran = memhub.run("export", MEMHUB_DATABASE_URL=url)
        owner.execute("DROP ROLE outside")

    assert ran.returncode == 1
    assert "gives outside no permission to act as memhub_operator" in ran.stderr
    assert "Run it with the URL of the schema's owner." in ran.stderr


def test_a_file_that_is_not_there_and_a_project_that_is_unknown_are_one_line(database_url: str, many: Path) -> None:
    missing = memhub.run("import", "/no/such/file", MEMHUB_DATABASE_URL=database_url)
    unknown = memhub.run("export", "--project", "nowhere", MEMHUB_DATABASE_URL=database_url, MEMHUB_TENANT=TENANT)

    assert missing.stderr.startswith("memhub: /no/such/file: there is no folder /no.")
    assert unknown.stderr.startswith("memhub: --project: there is no project nowhere.")
    assert (missing.returncode, unknown.returncode) == (1, 1)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (lines([{"content": "a"}, {"content": "b"}]), "it looks like jsonl. Give --format jsonl, or none."),
        (lines([{"entityType": "x", "name": "y"}]), "it looks like server-memory. Give"),
        ("- said\n", 'none of its lines has a "kind" of one. Leave --format out'),
    ],
)
def test_what_is_no_export_of_memhub_is_told_once(text: str, told: str, database_url: str, tmp_path: Path) -> None:
    # Fails without `require_ours`: each line was told, and an end that was missing.
    (tmp_path / "mem.json").write_text(text)
    ran = memhub.run("import", str(tmp_path / "mem.json"), "--format", "memhub", MEMHUB_DATABASE_URL=database_url)

    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith(f"memhub: {tmp_path / 'mem.json'}: it is no export of memhub")
    assert told in ran.stderr
    assert ran.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "arguments", "told"),
    [
        ("", (), "memhub: Standard input is empty. Pipe the memories in"),
        ("", ("--format", "markdown"), "memhub: Standard input is empty. Pipe the memories in"),
        ("hello", (), "memhub: standard input: none of the known forms was recognised in it."),
        ("\x00" * 33_000, ("--format", "markdown"), "standard input line 1: "),
    ],
)
def test_what_is_piped_in_is_named_as_it_was_given(
    text: str, arguments: tuple[str, ...], told: str, database_url: str
) -> None:
    # Fails without `_told`, and when the file in between has another name.
    ran = memhub.run("import", "-", "--project", "my-app", *arguments, stdin=text, MEMHUB_DATABASE_URL=database_url)

    assert ran.returncode == 1
    assert ran.stderr.startswith(told)
    assert "/tmp" not in ran.stderr


def test_the_forms_of_the_command_are_those_that_are_read() -> None:
    assert ["auto", *Format] == [form.value for form in moving_commands.Form]


async def test_an_export_that_is_interrupted_leaves_nothing(
    connection: asyncpg.Connection, database_url: str, tmp_path: Path
) -> None:
    # Fails when `passing` does not remove its file.
    async with connection.transaction():
        await connection.execute("LOCK memhub.project_aliases IN ACCESS EXCLUSIVE MODE")
        process = memhub.start("export", "-o", str(tmp_path / "export.jsonl"), MEMHUB_DATABASE_URL=database_url)
        await until(connection, "SELECT count(*) > 0 FROM pg_locks WHERE NOT granted")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=memhub.TIMEOUT_S)

    assert process.returncode == 130
    assert err == "memhub: interrupted. Run it again: nothing was left under the name of the file.\n"
    assert names_in(tmp_path) == []


async def test_an_export_is_told_of_in_the_audit(connection: asyncpg.Connection, database_url: str) -> None:
    # Fails without _TELL in ops/export.
    memhub.run("export", MEMHUB_DATABASE_URL=database_url, MEMHUB_TENANT=TENANT)

    assert await connection.fetch("SELECT tenant, event FROM memhub.audit_events") == [(TENANT, "exported")]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """The address of a folder with a CLAUDE.md, served over HTTP."""
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "CLAUDE.md").write_text("# Build\n- with make\n")
    handler = partial(QuietHandler, directory=str(tmp_path / "served"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_arguments: object) -> None:
        """Says nothing."""


async def test_a_url_is_fetched_and_its_form_told_from_its_name(
    connection: asyncpg.Connection, database_url: str, served: str
) -> None:
    settings = {"MEMHUB_DATABASE_URL": database_url, "NO_PROXY": "127.0.0.1"}
    ran = memhub.run("import", f"{served}/CLAUDE.md", "--project", "web", **settings)
    missing = memhub.run("import", f"{served}/none.md", "--project", "web", **settings)

    assert ran.stdout == "Import (markdown): 1 imported.\n", ran.stderr
    assert await connection.fetchval("SELECT content FROM memhub.memory_revisions") == "Build: with make"
    assert missing.returncode == 1
    assert missing.stderr == f"memhub: {served}/none.md: the server answered 404. Check the address.\n"
