"""Files that are none, that lead out of their folder, or whose text is made to take for ever."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from ops import importing
from ops.files import FileRefused, reading
from ops.moving import sources
from ops.moving.entries import Entry
from ops.moving.formats import markdown
from ops.moving.lives import Place, Problem
from shared.settings import Settings
from tests.ops.test_round_trip import bring

CONTENTS = "SELECT array_agg(content ORDER BY content) FROM memhub.memory_revisions"


async def test_a_folder_gives_its_own_files_alone(
    settings: Settings, connection: asyncpg.Connection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Fails without is_regular in `_files`: a link brings what it names, a pipe is waited for without end.
    folder = tmp_path / "cloned"
    (folder / "docs").mkdir(parents=True)
    (folder / "AGENTS.md").write_text("- Ours.\n")
    (tmp_path / "private.md").write_text("- Of somebody else.\n")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "notes.md").write_text("- Elsewhere.\n")
    (folder / "CLAUDE.md").symlink_to(tmp_path / "private.md")
    (folder / "docs" / "GEMINI.md").symlink_to("../../private.md")
    (folder / "more").symlink_to(tmp_path / "elsewhere")
    (folder / "dir.md").symlink_to(tmp_path / "elsewhere")
    (folder / "sub.md").mkdir()
    (folder / "sub.md" / "a.md").write_text("- Ours too.\n")
    os.mkfifo(folder / "pipe.md")
    assert await bring(settings, folder, project="moving") == 0
    assert await connection.fetchval(CONTENTS) == ["Ours too.", "Ours."]
    told = capsys.readouterr()
    for name in ("CLAUDE.md", "docs/GEMINI.md", "more", "dir.md", "pipe.md"):
        assert f"{name}: it is a link or no file, and was not read" in told.err
    assert "5 were passed over" in told.out


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[Path]:
    """A folder with a file, a folder of files and a folder of names that this user may not look at."""
    folder = tmp_path / "cloned"
    for name in ("closed", "unseen"):
        (folder / name).mkdir(parents=True)
        (folder / name / "a.md").write_text("- Hidden.\n")
    (folder / "b.md").write_text("- Hidden.\n")
    (folder / "z.md").write_text("- Ours.\n")
    modes = {folder / "closed": 0, folder / "unseen": 0o444, folder / "b.md": 0}
    for path, mode in modes.items():
        # Root without its privilege is somebody else here.
        if os.geteuid() == 0:
            shutil.chown(path, "nobody")
        path.chmod(mode)
    yield folder
    for path in modes:
        path.chmod(0o700)


_LOOK = """
import os, sys
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID
from ops.moving.detection import Format
from ops.moving.entries import Context
from ops.moving.sources import Source
from tests import forkserver

if os.geteuid() == 0:
    forkserver._give_up_privilege()
context = Context(format="markdown", project_id=UUID(int=0), now=datetime.now(UTC))
for item in Source(Path(sys.argv[1]), Format.MARKDOWN, context, moved=True).items():
    print(item.place.told, getattr(item, "reason", "came"), sep=": ")
"""


def test_what_of_a_folder_this_user_may_not_read_is_told(closed: Path) -> None:
    # Fails without `onerror` in `_files`, and without each `except OSError` in `_seen` and `_markdown`.
    def look(path: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", _LOOK, path],
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=False,
        )

    ran = look(closed)
    told = [f"{name}: this user has no permission for it" for name in ("b.md", "closed", "unseen/a.md")]
    assert (sorted(ran.stdout.splitlines()), ran.stderr) == ([*told, "z.md line 1: came"], "")
    ran = look(closed / "closed")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert f"FileRefused: {closed / 'closed'}: this user has no permission for it" in ran.stderr


async def test_a_link_that_is_named_itself_is_followed(
    settings: Settings, connection: asyncpg.Connection, tmp_path: Path
) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "AGENTS.md").write_text("- Ours.\n")
    (tmp_path / "CLAUDE.md").symlink_to(tmp_path / "there" / "AGENTS.md")
    (tmp_path / "folder").symlink_to(tmp_path / "there")
    assert await bring(settings, tmp_path / "CLAUDE.md", project="moving") == 0
    assert await bring(settings, tmp_path / "folder", project="moving") == 0
    assert await connection.fetchval(CONTENTS) == ["Ours."]


def test_a_name_that_was_taken_by_something_else_is_not_read(tmp_path: Path) -> None:
    # Fails without O_NOFOLLOW, and without fstat and O_NONBLOCK, in `reading`.
    (tmp_path / "private.md").write_text("- Of somebody else.\n")
    (tmp_path / "CLAUDE.md").symlink_to(tmp_path / "private.md")
    os.mkfifo(tmp_path / "pipe.md")
    for name in ("CLAUDE.md", "pipe.md"):
        with pytest.raises(OSError), reading(tmp_path / name, follow=False):
            pass


async def test_a_pipe_or_a_device_is_no_source(settings: Settings, tmp_path: Path) -> None:
    # Fails without is_regular in `_local`: opening the pipe waits for who writes to it.
    os.mkfifo(tmp_path / "pipe.jsonl")
    for path in (tmp_path / "pipe.jsonl", Path("/dev/null")):
        with pytest.raises(FileRefused, match="neither a file nor a folder"):
            await bring(settings, path, project="moving")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("<!--" * 200_000, id="comments"),
        pytest.param("- <!-- x\n" * 40_000, id="comments of items"),
        pytest.param("# " + "#" * 400_000 + " x", id="numbers"),
        pytest.param("# " + "# " * 200_000 + "x", id="numbers apart"),
        pytest.param("# x" + " " * 400_000 + "y", id="blanks"),
        pytest.param("-" + " -" * 200_000 + "x", id="rule"),
        pytest.param("---\n" + "x\n" * 200_000, id="front matter"),
        pytest.param("1) " * 200_000, id="items"),
        pytest.param("x\n" + " " * 400_000, id="underline"),
        pytest.param(" " * 400_000 + "```", id="fence"),
        pytest.param("![" * 200_000 + "\n" + "<img" * 100_000, id="images"),
        pytest.param("a\n" + "-" * 200_000 + "|-" * 100_000 + "x", id="table"),
        pytest.param("# " + "x" * 400_000 + "\n- y" * 4_000, id="long heading"),
        pytest.param("x" * 400_000 + ":\n\n" + "- y\n" * 4_000, id="long intro"),
    ],
)
def test_a_text_takes_time_in_proportion_to_its_length(text: str) -> None:
    begun = time.process_time()
    markdown.entries("x.md", text)
    assert time.process_time() - begun < 3  # a quadratic one takes minutes


@pytest.mark.parametrize(
    ("text", "heading"),
    [
        ("# One #", "One"),
        ("## Two ##   ", "Two"),
        ("### C# and F#", "C# and F#"),
        ("# #", ""),
        ("#  Three\t", "Three"),
        ("# a # b ##", "a # b"),
    ],
)
def test_the_marks_that_close_a_heading_are_none_of_it(text: str, heading: str) -> None:
    (entry,) = markdown.entries("x.md", f"{text}\n\n- said\n")
    assert isinstance(entry, Entry)
    assert entry.content == (f"{heading}: said" if heading else "said")


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("http://h/a/CLAUDE.md?x=1", "CLAUDE.md"),
        ("http://h/a%00b.md", "ab.md"),
        ("http://h/%00", ""),
        ("http://h/a/%2e%2e", ""),
        ("http://h/a%2Fb.md", "b.md"),
        ("http://h", ""),
    ],
)
def test_the_name_in_a_url_is_one_that_a_file_can_have(url: str, name: str) -> None:
    # Fails without its `replace`: a NUL in a name is a traceback.
    assert importing._name(url) == name


def test_a_comment_that_never_ends_is_a_text() -> None:
    *entries, note = markdown.entries("x.md", "a <!-- b --> c\n\nd <!-- e\n\nf <!-- g")
    assert [entry.content for entry in entries if isinstance(entry, Entry)] == ["a  c", "d <!-- e", "f <!-- g"]
    assert note == Problem(Place("x.md"), "left out: comments (line 1)", "note")


def test_what_is_piped_in_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Fails without the bound of `_keep`: what never ends fills the disk.
    monkeypatch.setattr(importing, "FETCH_BYTES_MAX", 2**20)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(bytes(2**23))))
    with pytest.raises(FileRefused, match="standard input: it is larger than 1,048,576 bytes"):
        importing._piped(tmp_path / "fetched")
    # No more than a chunk beyond it.
    assert (tmp_path / "fetched").stat().st_size <= 2**21


async def test_what_a_folder_has_beyond_its_bound_is_told(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sources, "FILES_MAX", 2)
    for name in ("A.md", "B.md", "C.md"):
        (tmp_path / name).write_text(f"- {name} of ours.\n")
    await bring(settings, tmp_path, project="moving")
    told = capsys.readouterr()
    assert "it has more than 2 files; the rest was not read" in told.err
    assert "2 imported" in told.out
