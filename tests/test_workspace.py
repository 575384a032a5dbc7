import os
from pathlib import Path

import pytest

from shared import workspace

CONFIG = """\
[core]
    bare = false
[remote "upstream"]
    url = https://example.org/up/stream.git
[remote "origin"]
    url = https://user:token@example.org/acme/billing.git
    fetch = +refs/heads/*:refs/remotes/origin/*
[branch "main"]
    remote = origin
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    (tmp_path / "repository" / ".git" / "config").write_text(CONFIG)
    return tmp_path / "repository"


def test_the_aliases_are_the_working_folder_and_origin_without_its_token(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository / "src").mkdir()
    monkeypatch.chdir(repository / "src")
    assert workspace.aliases_here() == {
        "workspace_path": str(repository / "src"),
        "git_remote": "example.org/acme/billing",
    }


def test_a_linked_worktree_has_the_remote_of_its_repository(repository: Path, tmp_path: Path) -> None:
    linked = repository / ".git" / "worktrees" / "wt"
    linked.mkdir(parents=True)
    (linked / "commondir").write_text("../..\n")
    worktree = tmp_path / "wt"
    worktree.mkdir()
    (worktree / ".git").write_text(f"gitdir: {linked}\n")
    assert workspace.git_remote(worktree) == "https://user:token@example.org/acme/billing.git"


def test_a_folder_without_repository_has_no_remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path / "plain")
    assert workspace.aliases_here() == {"workspace_path": str(tmp_path / "plain")}


def test_a_repository_without_a_remote_is_known_from_every_folder_inside(repository: Path) -> None:
    (repository / ".git" / "config").write_text("[core]\n    bare = false\n")
    (repository / "src" / "deep").mkdir(parents=True)
    for folder in (repository, repository / "src" / "deep"):
        assert workspace.aliases(folder) == {"workspace_path": str(folder), "git_remote": str(repository)}


def test_a_home_and_the_root_lead_to_no_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert workspace.aliases(tmp_path) == {}
    assert workspace.aliases(Path("/")) == {}


def test_a_pipe_and_a_name_that_is_no_unicode_are_left_out(tmp_path: Path) -> None:
    # Fails without `is_file` in `_read`: nobody ever writes into the pipe, and the server waits for ever.
    odd = tmp_path / "caf\udce9"
    (odd / ".git").mkdir(parents=True)
    os.mkfifo(odd / ".git" / "config")
    assert workspace.aliases(odd) == {}

    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / ".git").write_bytes(b"gitdir: /a\0b\n")
    assert workspace.aliases(tmp_path / "linked") == {"workspace_path": str(tmp_path / "linked")}


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("/srv/our repositories/payments.git  ", "/srv/our repositories/payments.git"),
        ('"/srv/our #1/payments.git" # the first', "/srv/our #1/payments.git"),
        ("/srv/payments.git ; the second", "/srv/payments.git"),
    ],
)
def test_a_remote_is_read_as_git_reads_it(repository: Path, written: str, url: str) -> None:
    # Fails where it ends at a blank: two repositories in one folder of such a name were one project.
    (repository / ".git" / "config").write_text(f'[remote "origin"]\n  url = {written}\n')
    assert workspace.git_remote(repository) == url


def test_a_remote_that_is_no_address_is_left_out(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (repository / ".git" / "config").write_text('[remote "origin"]\n  url = ext::sh -c evil\n')
    monkeypatch.chdir(repository)
    assert workspace.aliases_here() == {"workspace_path": str(repository)}


def test_a_working_folder_that_was_removed_has_no_aliases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert workspace.aliases_here() == {}
