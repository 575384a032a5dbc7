"""Every command, whatever is wrong around it: one line that says what happened, the right status, nothing half done."""

from __future__ import annotations

import array
import asyncio
import fcntl
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import IO, Any, TypeVar
from uuid import UUID

import asyncpg
import psutil
import psycopg
import pytest
import typer.main

import ops.main
import server.main
import workers.main
from ops.cli import app
from shared import embedded, migrations
from tests import forked
from tests.ops import lively
from tests.ops.conftest import ENTRIES, Installation, Ran
from tests.ports import free_port

WAIT_S = 120
Met = TypeVar("Met")
POLL_S = 0.02
NOWHERE = "postgresql://nobody@127.0.0.1:1/none"
ID = "11111111-1111-1111-1111-111111111111"


class Database(Enum):
    """What a command does about the database."""

    FINDS = auto()
    MAKES = auto()
    EMBEDDED = auto()  # finds it, and refuses any other
    RESTORES = auto()
    UNUSED = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A real use of it, and what it must refuse before it looks for a database."""

    use: str = ""
    wrong: tuple[str, ...] = ()
    database: Database = Database.FINDS


COMMANDS = {
    "memhub demo": Command(use="--keep", wrong=("now",), database=Database.MAKES),
    "memhub up": Command(use="--port {port}", wrong=("--port 0", "--port x"), database=Database.MAKES),
    "memhub status": Command(wrong=("now",)),
    "memhub doctor": Command(wrong=("now",)),
    "memhub migrate": Command(wrong=("now",), database=Database.MAKES),
    "memhub connect": Command(use="cursor", wrong=("", "emacs", "cursor --token x"), database=Database.UNUSED),
    "memhub hook session-start": Command(wrong=("now",), database=Database.UNUSED),
    "memhub export": Command(use="--output {output}", wrong=("now", "--project ?")),
    "memhub import": Command(
        use="{source} --project faults", wrong=("", "{source} --format xml"), database=Database.MAKES
    ),
    "memhub purge": Command(use="{memory}", wrong=("", "?")),
    "memhub gc": Command(wrong=("now",)),
    "memhub backup": Command(use="{output}", wrong=("",), database=Database.EMBEDDED),
    "memhub restore": Command(use="{backup}", wrong=("",), database=Database.RESTORES),
    "memhub token create": Command(
        use="--tenant acme",
        wrong=("now", "--tenant ?", "--tenant acme --project ?", "--tenant acme --expires soon"),
        database=Database.MAKES,
    ),
    "memhub token list": Command(wrong=("now", "--tenant ?")),
    "memhub token revoke": Command(use=ID, wrong=("", "?")),
    "memhub project list": Command(wrong=("now", "--tenant ?")),
    "memhub project untie": Command(use="/nowhere/at/all", wrong=("", "/ --tenant acme", "/nowhere --tenant ?")),
    "memhub project rename": Command(use="nowhere elsewhere", wrong=("", "nowhere", "nowhere ?", "nowhere a b")),
    "memhub reembed": Command(use="--status", wrong=("a-model --status", "--status --abort")),
    "memhub calibrate": Command(
        use="--project moving", wrong=("now", "--project ?", "--floor 2", "--floor 0.3 --dry-run")
    ),
    "memhub jobs list": Command(wrong=("--limit 0", "--state lost")),
    "memhub jobs retry": Command(use="--all", wrong=("", "x", "1 --all", "-- -1")),
    "memhub dashboard": Command(use="--no-open --port 0", wrong=("now", "--port x")),
    "memhub-server": Command(wrong=("now", "--port 1", "--http --port x"), database=Database.MAKES),
    "memhub-worker": Command(use="--once", wrong=("now", "--queues x", "--concurrency 0"), database=Database.MAKES),
}
EVERY = sorted(COMMANDS)
OF_MEMHUB = [name for name in EVERY if name.startswith("memhub ")]
MAINS = {"memhub": ops.main.main, "memhub-server": server.main.main, "memhub-worker": workers.main.main}


def those(*kinds: Database) -> list[str]:
    return [name for name in EVERY if COMMANDS[name].database in kinds]


def commands_of(group: Any, words: str) -> Iterator[str]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands_of(command, f"{words} {name}")
        else:
            yield f"{words} {name}"


def groups_of(group: Any, words: str) -> Iterator[tuple[str, list[str]]]:
    yield words, list(group.commands)
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from groups_of(command, f"{words} {name}")


GROUPS = list(groups_of(typer.main.get_command(app), "memhub"))


def test_every_command_is_tried() -> None:
    there = {*commands_of(typer.main.get_command(app), "memhub"), "memhub-server", "memhub-worker"}
    assert there == set(COMMANDS)


@dataclass(frozen=True, slots=True)
class Told:
    """How a command ended in this process, and what it printed."""

    status: int
    out: str
    err: str


@pytest.fixture
def telling(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., Told]:
    """Runs a command in this process: a new one costs 0.6 s each time."""
    for name in [name for name in os.environ if name.startswith("MEMHUB_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def tell(name: str, *arguments: str, **environment: str) -> Told:
        for variable, value in environment.items():
            monkeypatch.setenv(variable, value)
        program, *words = name.split()
        monkeypatch.setattr(sys, "argv", [program, *words, *arguments])
        out = BytesIO()
        monkeypatch.setattr(sys, "stdout", TextIOWrapper(out))
        with pytest.raises(SystemExit) as ended:
            MAINS[program]()
        sys.stdout.flush()
        return Told(int(ended.value.code or 0), out.getvalue().decode(), capsys.readouterr().err)

    return tell


def filled(use: str, folder: Path, *, memory: UUID | str = ID) -> list[str]:
    """The arguments, with the files that they name."""
    source, backup = folder / "source.jsonl", folder / "source.backup"
    source.write_text('{"content": "The build needs Node 22."}\n')
    backup.write_bytes(b"PGDMP, and then no more of it")
    names = {"source": source, "backup": backup, "output": folder / "output", "memory": memory, "port": free_port()}
    return [word.format(**names) for word in use.split()]


def assert_one_line(err: str) -> None:
    assert err.startswith("memhub"), err
    assert err.count("\n") == 1, err


@pytest.mark.parametrize("name", EVERY)
def test_help_is_shown_and_touches_nothing(name: str, telling: Callable[..., Told], tmp_path: Path) -> None:
    told = telling(name, "--help", MEMHUB_DATA_DIR=str(tmp_path / "data"))

    assert (told.status, told.err) == (0, "")
    assert "usage" in told.out.lower()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("name", "commands"), GROUPS, ids=[name for name, _ in GROUPS])
def test_help_of_a_group_lists_its_commands(name: str, commands: list[str], telling: Callable[..., Told]) -> None:
    # Fails when a command has no place in the order of `usage` and the order needs one.
    told = telling(name, "--help")

    assert (told.status, told.err) == (0, "")
    assert [command for command in commands if f"│ {command} " not in told.out] == []


@pytest.mark.parametrize(
    ("name", "arguments"), [(name, wrong) for name in EVERY for wrong in (*COMMANDS[name].wrong, "--no-such-option")]
)
def test_bad_arguments_are_refused_before_anything_is_looked_for(
    name: str, arguments: str, telling: Callable[..., Told], tmp_path: Path
) -> None:
    told = telling(name, *filled(arguments, tmp_path), MEMHUB_DATABASE_URL=NOWHERE)

    assert (told.status, told.out) == (2, "")
    assert "cannot be reached" not in told.err
    assert "Traceback" not in told.err


IN_THIS_PROCESS = [
    name for name in OF_MEMHUB if COMMANDS[name].database is not Database.UNUSED and name != "memhub demo"
]


@pytest.mark.parametrize("name", IN_THIS_PROCESS)
def test_a_database_that_is_away_is_one_line(name: str, telling: Callable[..., Told], tmp_path: Path) -> None:
    told = telling(name, *filled(COMMANDS[name].use, tmp_path), MEMHUB_DATABASE_URL=NOWHERE)

    assert told.status == 1
    if name == "memhub doctor":
        assert "cannot be reached" in " ".join(told.out.split())
        return
    assert_one_line(told.err)
    refused = COMMANDS[name].database in {Database.EMBEDDED, Database.RESTORES}
    assert ("MEMHUB_DATABASE_URL names another" if refused else "cannot be reached") in told.err
    assert not (tmp_path / "output").exists()


@pytest.mark.parametrize(("name", "status"), [("memhub demo", 1), ("memhub-worker", 1), ("memhub-server", 0)])
def test_a_database_that_is_away_is_one_line_of_a_program_too(
    name: str, status: int, begin: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    process = begin(name, *filled(COMMANDS[name].use, tmp_path), MEMHUB_DATABASE_URL=NOWHERE)
    _, err = process.communicate(timeout=WAIT_S)

    assert process.returncode == status
    if status:
        assert_one_line(err)
        assert "cannot be reached" in err


@pytest.mark.parametrize("name", those(Database.FINDS, Database.EMBEDDED))
def test_who_only_looks_makes_no_database(name: str, telling: Callable[..., Told], tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    told = telling(name, *filled(COMMANDS[name].use, tmp_path), MEMHUB_DATA_DIR=str(data_dir))

    assert not data_dir.exists()
    assert not (tmp_path / "output").exists()
    if name == "memhub doctor":
        assert (told.status, "There is no database in" in " ".join(told.out.split())) == (0, True)
        return
    assert told.status == 1
    assert_one_line(told.err)
    assert f"There is no database in {data_dir}" in told.err


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path, that a socket may lie in."""
    made = Path(tempfile.mkdtemp(prefix="mh-", dir="/tmp"))
    yield made
    shutil.rmtree(made)


@pytest.fixture
def run(installation: Installation, folder: Path) -> Callable[..., Ran]:
    def run(name: str, *arguments: str, privileged: bool = True, **environment: str) -> Ran:
        program, *words = name.split()
        return forked.run(
            ENTRIES[program],
            [str(installation.programs / program), *words, *arguments],
            cwd=installation.project,
            env=installation.environment(environment),
            timeout=WAIT_S,
            privileged=privileged,
        )

    return run


@pytest.fixture
def closed(folder: Path) -> Iterator[Path]:
    """A folder that belongs to somebody else where this user may give one away, and that nobody may enter."""
    made = folder / "closed"
    made.mkdir(mode=0o700)
    (made / "source.jsonl").write_text("{}\n")
    (made / "source.backup").write_bytes(b"PGDMP")
    if os.geteuid() == 0:
        shutil.chown(made, "nobody")
    made.chmod(0)
    yield made
    made.chmod(0o700)


@pytest.mark.parametrize(
    ("name", "below"),
    [(name, "") for name in EVERY if COMMANDS[name].database is not Database.UNUSED]
    + [("memhub status", "data"), ("memhub doctor", "data"), ("memhub migrate", "data")],
)
def test_a_data_folder_of_somebody_else_is_one_line(
    name: str, below: str, run: Callable[..., Ran], closed: Path, tmp_path: Path
) -> None:
    data_dir = str(closed / below)
    ran = run(name, *filled(COMMANDS[name].use, tmp_path), privileged=False, MEMHUB_DATA_DIR=data_dir)

    assert "Traceback" not in ran.stderr, ran.stderr
    if name == "memhub-server":
        # It has a client that nobody disturbs: its calls say what is wrong.
        assert (ran.returncode, ran.stdout) == (0, "")
        return
    assert ran.returncode == 1, ran.stderr
    told = " ".join(ran.stdout.split()) if name == "memhub doctor" else ran.stderr
    assert str(closed) in told.replace(" ", "")
    if name != "memhub doctor":
        assert_one_line(ran.stderr)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("memhub import", "{closed}/source.jsonl --project faults"),
        ("memhub restore", "{closed}/source.backup"),
        ("memhub export", "--output {closed}/output"),
        ("memhub connect", "cursor"),
    ],
)
def test_a_file_of_somebody_else_is_one_line(
    name: str, arguments: str, run: Callable[..., Ran], closed: Path, database_url: str
) -> None:
    own = {"HOME": str(closed)} | ({} if name == "memhub restore" else {"MEMHUB_DATABASE_URL": database_url})
    ran = run(name, *arguments.format(closed=closed).split(), privileged=False, **own)

    assert (ran.returncode, ran.stdout) == (1, "")
    assert_one_line(ran.stderr)
    assert str(closed) in ran.stderr
    closed.chmod(0o700)
    assert sorted(path.name for path in closed.iterdir()) == ["source.backup", "source.jsonl"]


@pytest.mark.parametrize("name", those(Database.MAKES))
def test_a_disk_that_holds_no_database_is_one_line_and_left_empty(
    name: str, run: Callable[..., Ran], small_disk: Path, tmp_path: Path
) -> None:
    data_dir = small_disk / "data"
    ran = run(name, *filled(COMMANDS[name].use, tmp_path), MEMHUB_DATA_DIR=str(data_dir))

    assert "Traceback" not in ran.stderr, ran.stderr
    if name == "memhub-server":
        # Nobody called it, so it made none; `memhub demo` has one that is called.
        assert (ran.returncode, ran.stdout, data_dir.exists()) == (0, "", False)
        return
    left = {path.name for path in data_dir.iterdir()}
    assert left <= {"lock", "leases", "worker.lock", "worker.log", "postgres.log"}
    assert ran.returncode == 1, ran.stderr
    assert_one_line(ran.stderr)
    assert "full" in ran.stderr


@pytest.fixture(scope="module")
def stopped() -> Iterator[Path]:
    """A data folder whose database is at the schema of this program, and stopped."""
    made = Path(tempfile.mkdtemp(prefix="mh-", dir="/tmp"))
    asyncio.run(_migrate(embedded.ensure_running(made).dsn))
    embedded.stop(made)
    yield made
    embedded.stop(made)
    shutil.rmtree(made)


async def _migrate(dsn: str) -> None:
    connection = await asyncpg.connect(dsn)
    await migrations.migrate(connection)
    await lively.client(connection)
    await connection.close()


# The others print nothing that they could not do without: they refuse what is asked of an empty database.
PRINTING = sorted(
    {*OF_MEMHUB}
    - {"memhub connect", "memhub hook session-start", "memhub restore"}
    - {"memhub purge", "memhub token revoke", "memhub calibrate"}
    - {"memhub project untie", "memhub project rename"}
)
# They tell of what they do on standard error.
ON_STDERR = {"memhub export"}


@pytest.mark.parametrize("name", PRINTING)
def test_an_answer_that_finds_no_room_is_one_line_and_what_was_started_is_stopped(
    name: str, installation: Installation, stopped: Path, tmp_path: Path
) -> None:
    program, *words = name.split()
    use = filled(COMMANDS[name].use, tmp_path)
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(
            [str(installation.programs / program), *words, *use],
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=installation.project,
            env=installation.environment({"MEMHUB_DATA_DIR": str(stopped), "MEMHUB_WORKER_IDLE_S": "1"}),
            timeout=WAIT_S,
            check=False,
        )

    assert "Traceback" not in ran.stderr, ran.stderr
    assert ran.returncode == (0 if name in ON_STDERR else 1), ran.stderr
    if name not in ON_STDERR:
        assert ran.stderr.splitlines()[-1].startswith("memhub: Standard output: the disk is full")
    until(lambda: not embedded.is_running(stopped))


def test_a_token_whose_secret_found_no_room_is_not_made(database_url: str, installation: Installation) -> None:
    # Fails when the secret is printed after the commit.
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(
            [str(installation.programs / "memhub"), "token", "create", "--tenant", "acme"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=installation.environment({"MEMHUB_DATABASE_URL": database_url}),
            timeout=WAIT_S,
            check=False,
        )

    assert ran.returncode == 1
    assert_one_line(ran.stderr)
    with psycopg.connect(database_url) as connection:
        assert connection.execute("SELECT count(*) FROM memhub.api_tokens").fetchone() == (0,)


def until(condition: Callable[[], Met]) -> Met:
    deadline = time.monotonic() + WAIT_S
    while not (met := condition()):
        assert time.monotonic() < deadline
        time.sleep(POLL_S)
    return met


def interrupted(process: subprocess.Popen[str], number: signal.Signals = signal.SIGINT) -> tuple[int, str, str]:
    """Status, output and complaint of a process that gets the signal now; its children are gone with it."""
    family = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(number)
    out, err = process.communicate(timeout=WAIT_S)
    assert psutil.wait_procs(family, timeout=WAIT_S)[1] == []
    return process.returncode, out, err


@pytest.fixture
def begin(installation: Installation) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    begun: list[subprocess.Popen[str]] = []

    def begin(name: str, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        program, *words = name.split()
        process = subprocess.Popen(
            [str(installation.programs / program), *words, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=installation.project,
            env=installation.environment(environment),
            start_new_session=True,
        )
        begun.append(process)
        return process

    yield begin
    for process in begun:
        if process.poll() is None:
            process.kill()
            process.communicate()


TABLES = """
SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) FROM pg_tables
WHERE schemaname = 'memhub' OR starts_with(tablename, 'procrastinate') ORDER BY 1"""
WAITING = """
SELECT count(*) > 0 FROM pg_stat_activity
WHERE wait_event_type = 'Lock' AND datname = current_database()"""
# What these wait for is no lock, or they serve until a Ctrl-C: each has a test of its own, here or beside its others.
WAITING_ELSEWHERE = {
    "memhub demo", "memhub up", "memhub connect", "memhub hook session-start", "memhub restore", "memhub dashboard",
    "memhub-server", "memhub-worker",
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in EVERY if name not in WAITING_ELSEWHERE])
def test_ctrl_c_in_the_middle_is_one_line_and_nothing_is_half_done(
    name: str, begin: Callable[..., subprocess.Popen[str]], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    if COMMANDS[name].database is Database.EMBEDDED:
        where = {"MEMHUB_DATA_DIR": str(request.getfixturevalue("stopped"))}
        url = embedded.ensure_running(request.getfixturevalue("stopped")).dsn
    else:
        url = request.getfixturevalue("database_url")
        where = {"MEMHUB_DATABASE_URL": url}
    with psycopg.connect(url) as locking, psycopg.connect(url, autocommit=True) as watching:
        before = rows(watching)
        # But for the migrations: with those locked nothing gets further than looking whether it may begin.
        locked = set(before) - (set() if name == "memhub migrate" else {"memhub.schema_migrations"})
        locking.execute(f"LOCK TABLE {', '.join(sorted(locked))}")
        process = begin(name, *filled(COMMANDS[name].use, tmp_path), **where)
        until(lambda: watching.execute(WAITING).fetchone() == (True,))
        status, out, err = interrupted(process)
        locking.rollback()
        after = rows(watching)

    assert (status, out) == (130, "")
    assert err.startswith("memhub: interrupted.")
    assert err.count("\n") == 1
    assert after == before
    assert left_by(tmp_path) == ["source.backup", "source.jsonl"]


def rows(connection: psycopg.Connection) -> dict[str, int]:
    """How many rows each table has."""
    tables = [name for (name,) in connection.execute(TABLES)]
    counted = [connection.execute(f"SELECT count(*) FROM {name}").fetchone() for name in tables]
    return {name: row[0] for name, row in zip(tables, counted, strict=True) if row is not None}


def left_by(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.is_file())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_demo_with_its_servers(
    begin: Callable[..., subprocess.Popen[str]], folder: Path, number: signal.Signals
) -> None:
    # Fails without `telling` in demo of ops/cli.py: Typer tells every signal as Ctrl-C.
    process = begin("memhub demo", TMPDIR=str(folder))
    assert process.stdout is not None
    while "calls project_use" not in process.stdout.readline():
        pass
    status, _, err = interrupted(process, number)

    assert (status, err) == (128 + number, "memhub: interrupted.\n")
    assert list(folder.iterdir()) == []


def test_an_impatient_ctrl_c_does_not_break_the_clean_up(
    begin: Callable[..., subprocess.Popen[str]], folder: Path
) -> None:
    # With anyio.run in place of interruptible the second one is a traceback, and the folder stays.
    process = begin("memhub demo", TMPDIR=str(folder))
    assert process.stdout is not None
    while "calls project_use" not in process.stdout.readline():
        pass
    # While these stand still, the clean-up that the first one begins goes on until there was another.
    family = psutil.Process(process.pid).children(recursive=True)
    for child in family:
        child.suspend()
    process.send_signal(signal.SIGINT)
    until(lambda: told_after_another(process))
    for child in family:
        with suppress(psutil.NoSuchProcess):
            child.resume()
    status, _, err = interrupted(process)

    assert (status, err) == (130, "memhub: ending ...\nmemhub: interrupted.\n")
    assert list(folder.iterdir()) == []


def told_after_another(process: subprocess.Popen[str]) -> bool:
    assert process.stderr is not None
    process.send_signal(signal.SIGINT)
    return bool(select.select([process.stderr], [], [], POLL_S)[0])


def test_ctrl_c_before_a_client_s_file_is_exchanged_leaves_it_as_it_was(
    begin: Callable[..., subprocess.Popen[str]], installation: Installation
) -> None:
    """The new file waits beside it while another memhub is writing in the folder."""
    folder = installation.home / ".cursor"
    folder.mkdir()
    (folder / "mcp.json").write_text("{}")
    held = os.open(folder, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    process = begin("memhub connect", "cursor")
    until(lambda: len(list(folder.iterdir())) > 1)
    status, out, err = interrupted(process)
    os.close(held)

    assert (status, out, err) == (130, "", "memhub: interrupted.\n")
    assert [file.name for file in folder.iterdir()] == ["mcp.json"]
    assert (folder / "mcp.json").read_text() == "{}"


def test_ctrl_c_is_nothing_to_a_hook(begin: Callable[..., subprocess.Popen[str]]) -> None:
    process = begin("memhub hook session-start")
    assert process.stdin is not None
    process.stdin.write("{")
    process.stdin.flush()
    until(partial(drained, process.stdin))

    assert interrupted(process) == (0, "", "")


def drained(pipe: IO[str]) -> bool:
    """Whether all that was written was read."""
    unread = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, unread)
    return unread[0] == 0
