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
