"""What `memhub connect` says beside what it writes, and what it writes for that."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ops.connecting.clients import CLIENTS
from ops.connecting.command import Misused
from ops.connecting.places import Places
from ops.connecting.rules import BEGIN
from tests.ops.connecting.conftest import Connect, config, entry

URL = "http://127.0.0.1:3000/mcp"
IN_PROJECT = {name: client for name, client in CLIENTS.items() if client.project_rules}


def below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("client", CLIENTS)
def test_a_project_of_the_shell_stays_out_of_a_file_for_all_folders(
    client: str, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Fails without PROJECT in `carried`.
    monkeypatch.setenv("MEMHUB_PROJECT", "shop-app")
    monkeypatch.setenv("MEMHUB_TENANT", "acme")
    told = connect(client)
    assert entry(client)["env"] == {"MEMHUB_TENANT": "acme"}
    assert told.count("MEMHUB_PROJECT of this shell was left out") == 1
    assert "Your settings went along: MEMHUB_TENANT." in told

    told = connect(client, memory_project="other")
    assert entry(client)["env"] == {"MEMHUB_TENANT": "acme", "MEMHUB_PROJECT": "other"}
    # Fails without `names_project`.
    assert "went along" not in told
    assert "left out" not in told


def test_a_project_of_the_shell_goes_into_the_file_of_a_project(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMHUB_PROJECT", "shop-app")
    assert "Your settings went along: MEMHUB_PROJECT." in connect("cursor", project=True)
    assert entry("cursor", project=True)["env"] == {"MEMHUB_PROJECT": "shop-app"}


def test_codex_has_time_for_a_first_start_unless_the_user_says_how_long(connect: Connect) -> None:
    # Fails without `_codex_local`, and without _STARTUP in `_stands`.
    connect("codex")
    assert entry("codex")["startup_timeout_sec"] == 30
    path = config("codex")
    for mine in ("startup_timeout_sec = 5", "startup_timeout_ms = 5000"):
        path.write_text(f"[mcp_servers.memhub]\ncommand = 'memhub-server'\n{mine}\n")
        connect("codex")
        assert mine in path.read_text()
        assert path.read_text().count("startup_timeout") == 1


@pytest.mark.parametrize("client", [name for name, client in CLIENTS.items() if client.remote])
def test_over_http_the_project_of_calls_is_told(client: str, connect: Connect) -> None:
    # Fails without `_of_remote`.
    told = connect(client, http=URL, token="t")
    assert told.count("Calls that name no project go to the project `default`, from every repository, unless") == 1
    told = connect(client, memory_project="shop-app")
    assert "default" not in told
    assert "Calls that name no project go to shop-app." in told


@pytest.mark.parametrize("token", [{"token": "t0k"}, {"token_variable": "T"}])
@pytest.mark.parametrize("client", ["cursor", "codex"])
def test_a_token_that_outlives_its_entry_is_told(client: str, token: dict[str, str], connect: Connect) -> None:
    # Fails without `has_token` in `removed`.
    connect(client, http=URL, **token)
    told = connect(client, remove=True)
    assert "Its token still works: `memhub token list` shows it, `memhub token revoke ID` ends it." in told
    connect(client)
    assert "still works" not in connect(client, remove=True)
    assert "still works" not in connect(client, remove=True)


def test_of_an_entry_that_stays_nothing_is_told(connect: Connect) -> None:
    # Fails without each rules_only in `removed`.
    connect("codex", http=URL, token="t0k", with_rules=True)
    told = connect("codex", remove=True, rules_only=True)
    assert "AGENTS.md" in told
    assert "still works" not in told
    assert entry("codex")["url"] == URL
    assert connect("codex", remove=True, rules_only=True).startswith("Codex has no rules of memhub.\n")
    assert "still works" in connect("codex", remove=True)
    assert connect("codex", remove=True).startswith("Codex: memhub was not in it.\n")


@pytest.mark.parametrize("client", IN_PROJECT)
def test_the_rules_of_a_project_come_and_go_without_an_entry(client: str, connect: Connect) -> None:
    # Fails when `_wish` makes a server of --rules-only.
    places = Places.here()
    told = connect(client, project=True, rules_only=True)
    rules = IN_PROJECT[client].project_rules
    assert rules is not None
    path = rules.path(places)
    assert BEGIN in path.read_text()
    assert f"Wrote {path}." in told
    assert below(places.project) == [str(path.relative_to(places.project))]
    assert "has these rules already" in connect(client, project=True, rules_only=True)
    connect(client, project=True)
    connect(client, project=True, rules_only=True, remove=True)
    assert not path.exists()
    assert entry(client, project=True)["command"]


@pytest.mark.parametrize(
    ("client", "asked", "told"),
    [
        ("cursor", {}, "with --project --rules-only"),
        ("claude-desktop", {}, "has no file for them"),
        ("codex", {"http": URL}, "writes no entry"),
        ("codex", {"memory_project": "a"}, "writes no entry"),
    ],
)
def test_rules_that_cannot_be_alone_are_a_usage_error(
    client: str, asked: dict[str, Any], told: str, connect: Connect
) -> None:
    with pytest.raises(Misused, match=told):
        connect(client, rules_only=True, **asked)


def test_print_shows_the_hook_and_the_rules_with_their_places(connect: Connect) -> None:
    # Fails when `shown` gives the entry alone.
    places = Places.here()
    printed = connect("claude-code", print_only=True, with_hooks=True, with_rules=True)
    for path in (config("claude-code"), places.claude_code() / "settings.json", places.claude_code() / "skills/memhub"):
        assert f"For {path}" in printed
    assert "hook session-start" in printed
    assert BEGIN in printed
    assert below(places.home) == []
    alone = connect("cursor", print_only=True, project=True, rules_only=True)
    assert "mcpServers" not in alone
    assert BEGIN in alone


def test_print_of_a_file_of_others_shows_ours_alone(connect: Connect) -> None:
    config("cursor").parent.mkdir()
    config("cursor").write_text(json.dumps({"mcpServers": {"other": {"command": "secret-of-another"}}}))
    assert "secret-of-another" not in connect("cursor", print_only=True)
