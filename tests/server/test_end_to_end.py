"""The product's process on a real database."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.server.processes import INITIALIZE, PRODUCT, WAIT_S, Raw, running

OLD, NEW = "Pagination uses offsets.", "Pagination uses cursors."


@contextlib.contextmanager
def session(folder: Path, database_url: str, **settings: str) -> Iterator[Raw]:
    with running(folder, PRODUCT, MEMHUB_DATABASE_URL=database_url, **settings) as raw:
        raw.send(INITIALIZE, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        raw.answer("init")
        yield raw


def answered(raw: Raw, tool: str, **arguments: Any) -> dict[str, Any]:
    request_id = f"{tool} {len(raw.lines)}"
    raw.call(request_id, tool, **arguments)
    structured: dict[str, Any] = raw.result(request_id)["structuredContent"]
    return structured


def test_a_decision_reversed_by_one_client_is_found_by_the_next_and_the_old_one_is_history(
    tmp_path: Path, database_url: str
) -> None:
    with session(tmp_path, database_url) as first:
        answered(first, "project_use", project="app", create=True)
        old = answered(first, "memory_remember", content=OLD, type="DECISION")["memory"]["memory_id"]
        new = answered(first, "memory_remember", content=NEW, type="DECISION", supersedes=[old])
        assert (new["outcome"], new["superseded"]) == ("created", [old])
    with session(tmp_path, database_url) as second:
        for given in ({"query": "offsets"}, {"query": "pagination"}, {}):
            found = answered(second, "memory_search", **given, limit=100)
            assert old not in [hit["memory_id"] for hit in found["results"]]
        assert [hit["content"] for hit in answered(second, "memory_search", query="pagination")["results"]] == [NEW]
        history = answered(second, "memory_history", memory_id=old)
        assert (history["status"], history["superseded_by"]) == ("SUPERSEDED", new["memory"]["memory_id"])
        assert history["revisions"][0]["author_client"] == "raw-client"
        refused = answered(second, "memory_remember", content="Late.", supersedes=[old])
        # Fails without the None in memory_remember.run: it told of a memory that there is not.
        assert refused.keys().isdisjoint({"memory", "attestations", "embedding"})
        assert refused["outcome"] == "refused"
        assert refused["obstacles"][0]["superseded_by"] == new["memory"]["memory_id"]


def test_a_project_that_was_resolved_is_not_taken_for_the_one_in_use(tmp_path: Path, database_url: str) -> None:
    # Fails without `unnamed` in project_use: the model went on in the project that it had not resolved.
    with session(tmp_path, database_url, MEMHUB_PROJECT="") as raw:
        untied = answered(raw, "project_use", project="shop", create=True)
        assert untied["guidance"] == (
            "Calls that name no project are refused here: give project=shop in each, or call project_use with "
            f"project=shop, create=true and workspace_path={tmp_path} to tie this folder to it."
        )
        tied = answered(raw, "project_use", project="shop", create=True, workspace_path=str(tmp_path))
        assert "guidance" not in tied
        other = answered(raw, "project_use", project="ledger", create=True)
        assert other["guidance"] == (
            "Calls that name no project use shop: give project=ledger in each that means this one."
        )
        assert answered(raw, "memory_remember", content=OLD)["outcome"] == "created"
        assert answered(raw, "memory_search", project="ledger")["results"] == []


def test_project_use_that_names_nothing_is_as_every_call_that_names_nothing(tmp_path: Path, database_url: str) -> None:
    # Fails without `names_nothing` in project_use: it knew of none where a search did, and made one of the folder.
    with session(tmp_path, database_url, MEMHUB_PROJECT="shop") as raw:
        elsewhere = answered(raw, "project_use", project="ledger", create=True)
        assert elsewhere["guidance"] == (
            "Calls that name no project mean shop, which is not there: give project=ledger in each,"
            " or make it with project=shop and create=true."
        )
        made = answered(raw, "project_use", create=True)
        assert (made["outcome"], made["slug"], "guidance" in made) == ("created", "shop", False)
        assert answered(raw, "project_use")["slug"] == "shop"
    # Fails without the look of `_guidance` at UUID: it advised to make a project under an id, which cannot be.
    missing = "6f0c2f0e-6f5b-4a52-9a0d-0a6f3c2d1e01"
    with session(tmp_path, database_url, MEMHUB_PROJECT=missing) as raw:
        assert answered(raw, "project_use", project="ledger")["guidance"] == (
            f"Calls that name no project mean {missing}, which is not there: give project=ledger in each."
        )
    with session(tmp_path, database_url, MEMHUB_PROJECT="") as raw:
        raw.call("refused", "project_use")
        assert "PROJECT_REQUIRED" in str(raw.result("refused"))
        made = answered(raw, "project_use", create=True)
        assert (made["outcome"], answered(raw, "project_use")["slug"]) == ("created", made["slug"])


def test_who_ties_a_second_repository_to_a_project_is_told_and_how_to_undo_it(
    tmp_path: Path, database_url: str
) -> None:
    # Fails without `_shared` in project_use.
    with session(tmp_path, database_url, MEMHUB_PROJECT="shop") as raw:
        answered(raw, "project_use", project="shop", create=True, git_remote="https://example.org/acme/shop.git")
        tied = answered(
            raw, "project_use", project="shop", create=True, git_remote="https://example.org/acme/other.git"
        )
        assert tied["outcome"] == "resolved"
        assert tied["guidance"] == (
            "shop is also the project of example.org/acme/shop: they share one memory with this work. "
            "If that is not meant, tell the user: `memhub project untie example.org/acme/other` ends it."
        )
        # Fails without `shlex.quote` there: the shell took it for two places.
        spaced = answered(raw, "project_use", project="shop", create=True, workspace_path="/src/my app")
        assert "`memhub project untie '/src/my app'` ends it." in spaced["guidance"]


def test_the_home_of_the_user_is_tied_to_no_project(tmp_path: Path, database_url: str) -> None:
    # Fails without `_refuse_home` in project_use: it was stored, and led nowhere from there.
    with session(tmp_path, database_url, HOME=str(tmp_path)) as raw:
        raw.call("refused", "project_use", project="shop", create=True, workspace_path=f"{tmp_path}/")
        assert "is the home of this user" in str(raw.result("refused"))
        assert answered(raw, "project_use", project="shop", create=True)["outcome"] == "created"


def test_a_folder_that_leads_to_two_projects_is_told_as_such_by_every_call(tmp_path: Path, database_url: str) -> None:
    # Fails without ProjectAmbiguous in `unnamed`, and without `scope` in project_use: it told of none.
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text('[remote "origin"]\n\turl = https://example.org/acme/ledger.git\n')
    with session(tmp_path, database_url, MEMHUB_PROJECT="") as raw:
        answered(raw, "project_use", project="shop", create=True, workspace_path=str(tmp_path))
        remote = "https://example.org/acme/ledger.git"
        tied = answered(raw, "project_use", project="ledger", create=True, git_remote=remote)
        assert tied["guidance"].startswith("Calls that name no project are refused here: give project=ledger in each")
        for tool in ("project_use", "memory_search"):
            raw.call(tool, tool)
            assert "PROJECT_AMBIGUOUS" in str(raw.result(tool))


@pytest.mark.parametrize("end", ["stdin", "SIGTERM", "SIGKILL"])
def test_a_write_in_flight_at_the_end_is_whole_or_absent_and_its_replay_tells_which(
    tmp_path: Path, database_url: str, end: str
) -> None:
    """The write waits for a lock that the test holds while the server is told to end."""
    request = {"content": OLD, "client_request_id": "the-one-request"}
    with session(tmp_path, database_url) as raw, psycopg.connect(database_url) as holder:
        answered(raw, "project_use", project="app", create=True)
        holder.execute("LOCK TABLE memhub.memory_revisions IN EXCLUSIVE MODE")
        raw.call("write", "memory_remember", **request)
        _waits(holder)
        match end:
            case "stdin":
                raw.close_stdin()
            case "SIGTERM":
                raw.process.terminate()
            case _:
                raw.process.kill()
                raw.process.wait(WAIT_S)
        if end == "SIGKILL":
            _terminate_waiting(holder)
        holder.rollback()
        raw.ended()
    with session(tmp_path, database_url) as raw:
        stored = len(answered(raw, "memory_search", limit=100)["results"])
        replay = answered(raw, "memory_remember", **request)
        assert (stored, replay["outcome"]) == ((0, "created") if end == "SIGKILL" else (1, "idempotent_replay"))
        assert len(answered(raw, "memory_search", limit=100)["results"]) == 1


def _waits(holder: psycopg.Connection) -> None:
    deadline = time.monotonic() + WAIT_S
    while not _waiting(holder):
        assert time.monotonic() < deadline, "the write never came to wait for the lock"


def _waiting(holder: psycopg.Connection) -> list[int]:
    rows = holder.execute(
        "SELECT pid FROM pg_locks WHERE NOT granted AND relation = 'memhub.memory_revisions'::regclass"
    )
    return [row[0] for row in rows]


def _terminate_waiting(holder: psycopg.Connection) -> None:
    """What the backend does by itself when it next writes to the client that was killed."""
    for pid in _waiting(holder):
        holder.execute("SELECT pg_terminate_backend(%s)", [pid])
