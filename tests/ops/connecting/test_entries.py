"""Another connect keeps what stands in memhub's entry, unless it is asked to change it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ops.connecting.clients import CLIENTS
from ops.connecting.command import Misused
from ops.connecting.places import Places
from tests.ops.connecting.conftest import Connect, config, entry, rewrite

URL = "http://127.0.0.1:3000/mcp"
CLIENTS_OVER_HTTP = [name for name, client in CLIENTS.items() if client.remote]


@pytest.mark.parametrize("client", CLIENTS_OVER_HTTP)
@pytest.mark.parametrize("again", [{}, {"with_rules": True}])
def test_a_server_over_http_stays_one_with_its_token_and_project(
    client: str, again: dict[str, Any], connect: Connect
) -> None:
    # Fails when `_is_remote` does not ask for the standing URL, and without `_kept` in `merged`.
    connect(client, http=URL, token="t0k-secret", memory_project="shop-app")
    rewrite(client, entry(client) | {"disabledTools": ["memory_forget"]})
    before = config(client).read_bytes()

    told = connect(client, **again)

    assert config(client).read_bytes() == before
    assert f"It goes over HTTP to {URL}; --local makes it start memhub-server." in told
    assert "t0k-secret" not in told


@pytest.mark.parametrize("client", CLIENTS)
def test_a_local_server_keeps_its_project_its_settings_and_what_the_user_added(
    client: str, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Fails without `_kept` in `merged`.
    monkeypatch.setenv("MEMHUB_TENANT", "acme")
    connect(client, memory_project="shop-app")
    mine = {"startup_timeout_sec": 40, "disabledTools": ["x"], "args": ["--x"]}
    changed = entry(client) | mine
    rewrite(client, changed | {"env": changed["env"] | {"PGSSLMODE": "require"}})
    before = config(client).read_bytes()
    monkeypatch.delenv("MEMHUB_TENANT")

    told = connect(client, with_rules=True)

    assert config(client).read_bytes() == before
    assert "Calls that name no project go to shop-app." in told
    assert "went along" not in told
    assert "No longer" not in told


def test_a_moved_installation_is_written_and_all_else_stays(connect: Connect, tmp_path: Path) -> None:
    # Fails when `_stands` holds for every command.
    connect("codex", memory_project="shop-app")
    before = entry("codex")
    rewrite("codex", before | {"command": "/gone/memhub-server", "enabled": False})
    connect("codex")
    assert entry("codex") == before | {"enabled": False}


def test_a_program_of_the_user_that_starts_ours_stays_until_local_is_asked(connect: Connect, tmp_path: Path) -> None:
    # Fails without `starts_another` of ours in `_stands`.
    connect("cursor")
    rewrite("cursor", {"command": "nice", "args": ["memhub-server"], "env": {"A": "b"}})
    assert "It still starts nice, as you have it" in connect("cursor")
    assert entry("cursor") == {"command": "nice", "args": ["memhub-server"], "env": {"A": "b"}}

    told = connect("cursor", local=True)

    assert "No longer in the entry: command, args." in told
    assert entry("cursor") == {"command": str(tmp_path / "bin/memhub-server"), "args": [], "env": {"A": "b"}}


@pytest.mark.parametrize("client", CLIENTS_OVER_HTTP)
def test_local_takes_the_server_over_http_out_by_name_and_keeps_the_project(
    client: str, connect: Connect, tmp_path: Path
) -> None:
    # Fails without `_OF_REMOTE` in `_kept`, and `dropped` without a word of it.
    connect(client, http=URL, token="t0k-secret", memory_project="shop-app")
    rewrite(client, entry(client) | {"disabledTools": ["x"]})

    told = connect(client, local=True)

    written = entry(client)
    assert (written["command"], written["env"]) == (
        str(tmp_path / "bin/memhub-server"),
        {"MEMHUB_PROJECT": "shop-app"},
    )
    assert written["disabledTools"] == ["x"]
    assert not {"url", "serverUrl", "headers", "http_headers"} & set(written)
    [line] = [line for line in told.splitlines() if line.startswith("No longer in the entry: ")]
    assert "(X-Memory-Project, Authorization)" in line
    assert "t0k-secret" not in told
    again = connect(client, http=URL, token_variable="T")
    assert "command" in again
    assert not {"command", "args", "env"} & set(entry(client))


@pytest.mark.parametrize("client", CLIENTS_OVER_HTTP)
def test_a_token_is_not_shown_to_another_server(client: str, connect: Connect) -> None:
    # Fails without `is_same_origin` in `_kept`.
    connect(client, http=URL, token="t0k-secret", memory_project="shop-app")

    told = connect(client, http="https://elsewhere.example.org/mcp")

    assert "t0k-secret" not in config(client).read_text() + told
    assert "Authorization" in told
    headers = entry(client).get("headers") or entry(client)["http_headers"]
    assert headers == {"X-Memory-Tenant": "local", "X-Memory-Project": "shop-app"}


def test_a_token_takes_the_place_of_another_however_that_was_written(connect: Connect) -> None:
    # Fails without `without` in `_kept`.
    connect("codex", http=URL, token_variable="T")
    connect("codex", token="t0k")
    assert entry("codex") == {"url": URL, "http_headers": {"Authorization": "Bearer t0k"}}
    connect("codex", token_variable="T")
    assert entry("codex") == {"url": URL, "bearer_token_env_var": "T"}
    connect("cursor", http=URL)
    rewrite("cursor", {"url": URL, "headers": {"authorization": "Bearer old", "X-Mine": "1"}})
    connect("cursor", token="t0k")
    assert entry("cursor")["headers"] == {"X-Mine": "1", "Authorization": "Bearer t0k"}


def test_the_tenant_of_an_entry_without_token_goes_when_a_token_comes(connect: Connect) -> None:
    # Fails without TENANT_HEADER in `without`: a token of another tenant would be FORBIDDEN.
    connect("cursor", http=URL)
    assert entry("cursor")["headers"] == {"X-Memory-Tenant": "local"}
    connect("cursor", token="t0k")
    assert entry("cursor")["headers"] == {"Authorization": "Bearer t0k"}


@pytest.mark.parametrize("over_http", [{}, {"http": URL, "token": "t"}])
def test_an_empty_memory_project_takes_it_off(over_http: dict[str, str], connect: Connect) -> None:
    connect("cursor", memory_project="shop-app", **over_http)
    told = connect("cursor", memory_project="")
    assert "shop-app" not in config("cursor").read_text() + told


@pytest.mark.parametrize("client", CLIENTS_OVER_HTTP)
def test_after_any_connects_remove_gives_the_file_back(client: str, connect: Connect) -> None:
    path = config(client)
    path.parent.mkdir(parents=True, exist_ok=True)
    mine = b'a = 1\r\n[b]\r\nc = "d"' if path.suffix == ".toml" else b'{"a": {"b": 1}}'
    path.write_bytes(mine)
    for asked in ({"http": URL, "token": "t0k"}, {"memory_project": "a-b"}, {"local": True}, {"with_rules": True}):
        connect(client, **asked)
    connect(client, remove=True)
    assert path.read_bytes() == mine


def test_what_stands_is_printed_too(connect: Connect) -> None:
    connect("cursor", http=URL, memory_project="shop-app")
    printed = connect("cursor", print_only=True)
    assert '"X-Memory-Project": "shop-app"' in printed
    assert "No longer in the entry: url" in connect("cursor", local=True, print_only=True)
    assert entry("cursor")["url"] == URL


def test_a_hook_has_the_settings_of_the_entry_and_none_over_http(connect: Connect) -> None:
    # Fails without `Standing.settings` in `_steps`: the hook would look into another project than the server.
    connect("claude-code", memory_project="shop-app")
    connect("claude-code", with_hooks=True)
    assert "MEMHUB_PROJECT=shop-app" in (Places.here().claude_code() / "settings.json").read_text()
    connect("claude-code", http=URL, token="t0k")
    with pytest.raises(Misused, match="it goes with a local server"):
        connect("claude-code", with_hooks=True)


def test_comments_and_other_tables_inside_the_entry_of_codex_stay(connect: Connect) -> None:
    # Fails without `_updated` in toml.put: the table would be written anew.
    connect("codex")
    path = config("codex")
    lines = path.read_text().replace("startup_timeout_sec = 30", "startup_timeout_sec = 40 # slow disk")
    path.write_text(f'{lines}\n[mcp_servers.memhub.tools.memory_forget]\napproval_mode = "prompt"\n')
    connect("codex", memory_project="shop-app")
    assert "startup_timeout_sec = 40 # slow disk" in path.read_text()
    assert entry("codex")["tools"] == {"memory_forget": {"approval_mode": "prompt"}}
    assert entry("codex")["env"] == {"MEMHUB_PROJECT": "shop-app"}
