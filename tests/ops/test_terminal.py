"""What people, clients and other programs wrote is text wherever a command shows it."""

from __future__ import annotations

import ast
import io
from pathlib import Path

import psycopg
import pytest
from rich.table import Table

from ops.terminal import Terminal
from ops.texts import shown
from tests.ops import memhub

OPS = Path(__file__).parents[2] / "ops"
HOSTILE = "[/red] :bomb: \x1b]0;pwned\x07\x1b[2J\x9b31m\u202e \r\x7f x"
OBEYED = ("\x1b", "\x07", "\x9b", "\u202e", "\r", "\x7f", "\x08")

# Its output is drawn by us alone: a recording, and the demo of it, whose words are our own.
_DRAWN = {"terminal.py", "recording.py", "demo.py"}


def test_nothing_in_a_text_is_obeyed() -> None:
    # Fails without render_str, and with markup or emoji.
    out = io.StringIO()
    terminal = Terminal(file=out, width=200)
    table = Table(HOSTILE, title=HOSTILE)
    table.add_row(HOSTILE)
    terminal.print(HOSTILE)
    terminal.print(table)
    assert out.getvalue().count("[/red] :bomb: \\x1b]0;pwned\\x07\\x1b[2J\\x9b31m\\u202e \\r\\x7f x") == 4
    assert not any(command in out.getvalue() for command in OBEYED)


def test_line_ends_and_every_script_stay() -> None:
    told = "línea\n\tзаметка 日本語 مذكرة 👩\u200d💻"
    assert shown(told) == told
    assert shown("\udcff\u2028") == "\\udcff\\u2028"
    # Fails without `visible` in `shown`.
    assert shown("a\U000e0041") == "a\\u{e0041}"


@pytest.mark.parametrize("path", sorted(OPS.rglob("*.py")), ids=lambda path: str(path.relative_to(OPS)))
def test_no_command_has_a_console_of_its_own(path: Path) -> None:
    if path.name in _DRAWN:
        return
    names = {node.id for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Name)}
    assert "Console" not in names, "use ops.terminal.Terminal"


def test_hostile_names_of_tokens_are_listed_and_revoked(database_url: str) -> None:
    settings = {"MEMHUB_DATABASE_URL": database_url}
    with psycopg.connect(database_url, autocommit=True) as owner:
        memhub.run("token", "create", "--tenant", "a", "--name", "[/red] x", **settings)
        owner.execute("UPDATE memhub.api_tokens SET name = name || %s", (HOSTILE,))
        listed = memhub.run("token", "list", **settings)
        (found,) = owner.execute("SELECT id FROM memhub.api_tokens").fetchone() or ()
        revoked = memhub.run("token", "revoke", str(found), **settings)
    assert (listed.returncode, revoked.returncode) == (0, 0), listed.stderr
    assert "[/red] x" in listed.stdout
    for told in (listed.stdout, revoked.stderr):
        assert not any(command in told for command in OBEYED)


def test_hostile_words_of_the_fleet_are_shown(database_url: str) -> None:
    settings = {"MEMHUB_DATABASE_URL": database_url}
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute(
            "INSERT INTO memhub.embedding_models (name, dimension, floor, state, created_at)"
            " VALUES (%s, 3, 0.2, 'current', clock_timestamp())",
            (HOSTILE,),
        )
    for command in (("status",), ("doctor",), ("reembed", "--status"), ("jobs", "list")):
        ran = memhub.run(*command, **settings)
        told = ran.stdout + ran.stderr
        assert "Traceback" not in told
        assert not any(each in told for each in OBEYED), command


def test_a_hostile_file_is_named_without_being_obeyed(database_url: str, tmp_path: Path) -> None:
    # Fails without `shown` in `_fail` of the command line.
    folder = tmp_path / "cloned"
    folder.mkdir()
    (folder / "bad\x1b]0;pwned\x07.md").write_bytes(b"\xff\xfe")
    settings = {"MEMHUB_DATABASE_URL": database_url}
    ran = memhub.run("import", str(folder), "--project", "moving", **settings)
    missing = memhub.run("import", "none\x1b]0;pwned\x07.md", "--project", "moving", **settings)
    assert "bad\\x1b]0;pwned\\x07.md: it is not UTF-8" in ran.stderr
    assert "none\\x1b]0;pwned\\x07.md: there is no such file" in missing.stderr
    for told in (ran.stdout, ran.stderr, missing.stderr):
        assert not any(command in told for command in OBEYED)
