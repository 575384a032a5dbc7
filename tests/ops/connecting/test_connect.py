"""The command as people run it, in a home of its own, and the client's file as the client reads it."""

from __future__ import annotations

import json
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from ops.client_commands import ClientName
from ops.connecting.clients import CLIENTS
from tests.ops.conftest import WAIT_S, Installation
from tests.server.processes import INITIALIZE

FILES = {
    "claude-code": ".claude.json",
    "claude-desktop": ".config/Claude/claude_desktop_config.json",
    "cursor": ".cursor/mcp.json",
    "codex": ".codex/config.toml",
    "vscode": ".config/Code/User/mcp.json",
    "windsurf": ".codeium/windsurf/mcp_config.json",
}
PROJECT_FILES = {
    "claude-code": ".mcp.json",
    "cursor": ".cursor/mcp.json",
    "codex": ".codex/config.toml",
    "vscode": ".vscode/mcp.json",
}
KEYS = {"codex": "mcp_servers", "vscode": "servers"}


def _entry(client: str, path: Path) -> dict[str, Any]:
    """Read as the client does: strict JSON, or TOML."""
    text = path.read_text()
    whole: dict[str, Any] = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    entry: dict[str, Any] = whole[KEYS.get(client, "mcpServers")]["memhub"]
    return entry


def _tools(entry: dict[str, Any], installation: Installation, folder: Path) -> set[str]:
    """The tools that a client gets which starts the server with nothing but what its file says."""
    requests = (
        INITIALIZE,
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
    )
    ran = subprocess.run(
        [entry["command"], *entry["args"]],
        input="\n".join(map(json.dumps, requests)) + "\n",
        capture_output=True,
        text=True,
        cwd=folder,
        env={"HOME": str(installation.home), "PATH": "/usr/bin:/bin"} | entry.get("env", {}),
        timeout=WAIT_S,
        check=True,
    )
    answers = [json.loads(line) for line in ran.stdout.splitlines()]
    return {tool["name"] for answer in answers if answer.get("id") == 1 for tool in answer["result"]["tools"]}


def test_the_command_line_names_the_clients_that_there_are() -> None:
    assert [client.value for client in ClientName] == list(CLIENTS) == list(FILES)


@pytest.mark.parametrize("client", FILES)
def test_a_connected_client_starts_a_server_that_lists_its_tools(client: str, installation: Installation) -> None:
    data = {"MEMHUB_DATA_DIR": str(installation.home / "data")}
    connected = installation.run("connect", client, environment=data)
    assert (connected.returncode, connected.stderr) == (0, "")
    path = installation.home / FILES[client]
    entry = _entry(client, path)
    assert Path(entry["command"]) == installation.programs / "memhub-server"
    assert entry["env"] == data
    assert "memory_remember" in _tools(entry, installation, installation.home)
    first = path.read_bytes()
    again = installation.run("connect", client, environment=data)
    assert (again.returncode, again.stdout) == (0, f"{CLIENTS[client].title} is connected already.\n")
    assert path.read_bytes() == first
    removed = installation.run("connect", client, "--remove")
    assert (removed.returncode, path.exists(), removed.stdout) == (0, False, f"Removed {path}.\n")


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("http://h:3000", "http://h:3000/mcp"),
        ("https://h/", "https://h/mcp"),
        ("https://h/memory/mcp", "https://h/memory/mcp"),
    ],
)
def test_a_url_without_a_path_is_completed_and_that_is_said(
    given: str, written: str, installation: Installation
) -> None:
    # Fails without `_endpoint`: the client would get 404.
    ran = installation.run("connect", "cursor", "--http", given)

    assert _entry("cursor", installation.home / FILES["cursor"])["url"] == written
    assert (f"{written} is written" in ran.stderr) == (given != written)


@pytest.mark.parametrize("client", PROJECT_FILES)
def test_a_project_gets_its_own_file_without_secrets(client: str, installation: Installation) -> None:
    secrets = {
        "MEMHUB_DATABASE_URL": "postgresql://u:hidden@h/d",
        "MEMHUB_DATABASE_DIRECT_URL": "postgresql://u:hidden@h/e",
        "MEMHUB_TENANT": "acme",
    }
    connected = installation.run("connect", client, "--project", environment=secrets)
    assert connected.returncode == 0, connected.stderr
    assert (
        "Not written into a file of the repository: MEMHUB_DATABASE_DIRECT_URL, MEMHUB_DATABASE_URL."
        in connected.stdout
    )
    entry = _entry(client, installation.project / PROJECT_FILES[client])
    assert entry["env"] == {"MEMHUB_TENANT": "acme"}
    assert not any(installation.home.iterdir())


@pytest.mark.parametrize("client", PROJECT_FILES)
def test_paths_of_this_machine_in_a_shared_file_are_warned_of(client: str, installation: Installation) -> None:
    # Fails without `_warn_of_paths`.
    data = str(installation.home / "data")
    local = installation.run("connect", client, "--project", environment={"MEMHUB_DATA_DIR": data})
    assert local.stderr.startswith(
        f"Warning: {PROJECT_FILES[client]} of the repository now names paths of this machine"
    )
    assert f"{installation.programs / 'memhub-server'}, MEMHUB_DATA_DIR={data}." in local.stderr
    remote = installation.run("connect", client, "--project", "--http", "http://h:3000/mcp", "--token-env", "TOKEN")
    assert (remote.returncode, remote.stderr) == (0, "")


@pytest.mark.parametrize(
    ("client", "expected"),
    [
        ("claude-code", {"type": "http", "url": "U", "headers": {"Authorization": "Bearer t0k"}}),
        ("cursor", {"url": "U", "headers": {"Authorization": "Bearer t0k"}}),
        ("codex", {"url": "U", "http_headers": {"Authorization": "Bearer t0k"}}),
        ("vscode", {"type": "http", "url": "U", "headers": {"Authorization": "Bearer t0k"}}),
        ("windsurf", {"serverUrl": "U", "headers": {"Authorization": "Bearer t0k"}}),
    ],
)
def test_a_server_over_http_is_written_as_the_client_has_it(
    client: str, expected: dict[str, Any], installation: Installation
) -> None:
    url = "https://memory.example.org/mcp"
    ran = installation.run("connect", client, "--http", url, "--token", "t0k")
    assert ran.returncode == 0, ran.stderr
    path = installation.home / FILES[client]
    assert json.loads(json.dumps(_entry(client, path)).replace(url, "U")) == expected
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("client", "expected"),
    [
        ("claude-code", {"Authorization": "Bearer ${TOKEN}"}),
        ("cursor", {"Authorization": "Bearer ${env:TOKEN}"}),
        ("vscode", {"Authorization": "Bearer ${env:TOKEN}"}),
    ],
)
def test_a_shared_file_refers_to_the_token_by_its_variable(
    client: str, expected: dict[str, str], installation: Installation
) -> None:
    installation.run("connect", client, "--project", "--http", "http://h:3000/mcp", "--token-env", "TOKEN")
    assert _entry(client, installation.project / PROJECT_FILES[client])["headers"] == expected


def test_codex_names_the_variable_of_the_token_in_its_own_field(installation: Installation) -> None:
    installation.run("connect", "codex", "--http", "http://h:3000/mcp", "--token-env", "TOKEN")
    entry = _entry("codex", installation.home / FILES["codex"])
    assert entry == {"url": "http://h:3000/mcp", "bearer_token_env_var": "TOKEN"}


def test_without_a_token_the_tenant_goes_along(installation: Installation) -> None:
    installation.run("connect", "cursor", "--http", "http://h:3000/mcp", "--memory-project", "my-app")
    headers = _entry("cursor", installation.home / FILES["cursor"])["headers"]
    assert headers == {"X-Memory-Tenant": "local", "X-Memory-Project": "my-app"}


@pytest.mark.parametrize("client", FILES)
def test_a_broken_file_is_refused_in_one_line_and_left_as_it_is(client: str, installation: Installation) -> None:
    path = installation.home / FILES[client]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('{"mcpServers": {')
    ran = installation.run("connect", client)
    assert ran.returncode == 1
    assert ran.stderr.startswith(f"memhub: {path}: line 1")
    assert ran.stderr.count("\n") == 1
    assert path.read_text() == '{"mcpServers": {'
    assert list(path.parent.glob("*backup*")) == []


def test_comments_of_vs_code_survive(installation: Installation) -> None:
    path = installation.home / FILES["vscode"]
    path.parent.mkdir(parents=True)
    mine = '{\n  // my servers\n  "servers": {\n    "a": { "command": "x" }, // first\n  },\n}\n'
    path.write_text(mine)
    assert installation.run("connect", "vscode").returncode == 0
    assert "// my servers" in path.read_text()
    assert '"memhub"' in path.read_text()
    assert path.with_name("mcp.json.memhub-backup").read_text() == mine
    removed = installation.run("connect", "vscode", "--remove")
    assert path.read_text() == mine
    assert f"yours to delete once nothing is missing: {path}.memhub-backup\n" in removed.stdout


def test_print_writes_nothing_and_prints_what_the_file_would_hold(installation: Installation) -> None:
    ran = installation.run("connect", "claude-code", "--print")
    assert json.loads(ran.stdout)["mcpServers"]["memhub"]["command"].endswith("/memhub-server")
    assert not any(installation.home.iterdir())


def test_hooks_and_rules_come_and_go_with_the_connection(installation: Installation) -> None:
    ran = installation.run("connect", "claude-code", "--with-hooks", "--with-rules")
    assert ran.returncode == 0, ran.stderr
    settings, skill = installation.home / ".claude/settings.json", installation.home / ".claude/skills/memhub/SKILL.md"
    hook = json.loads(settings.read_text())["hooks"]["SessionStart"][0]["hooks"][0]["command"]
    assert hook == f"{installation.programs / 'memhub'} hook session-start"
    assert skill.read_text().startswith("---\nname: memhub\n")
    installation.run("connect", "claude-code", "--remove")
    assert not settings.exists()
    assert not skill.exists()


@pytest.mark.parametrize(
    ("client", "told"), [("cursor", "with --project --rules-only"), ("claude-desktop", "has no file for them")]
)
def test_a_client_without_a_file_for_rules_is_connected_and_that_is_said(
    client: str, told: str, installation: Installation
) -> None:
    ran = installation.run("connect", client, "--with-rules")
    assert ran.returncode == 0, ran.stderr
    assert _entry(client, installation.home / FILES[client])["command"]
    [line] = [line for line in ran.stdout.splitlines() if line.startswith("No rules were written: ")]
    assert told in line
    assert not any(installation.project.iterdir())


def test_a_broken_settings_file_keeps_the_client_from_being_half_connected(installation: Installation) -> None:
    # Without files.check in _applied the server's entry is written before the settings are refused.
    settings = installation.home / ".claude/settings.json"
    settings.parent.mkdir()
    settings.write_text("{")
    ran = installation.run("connect", "claude-code", "--with-hooks")
    assert (ran.returncode, str(settings) in ran.stderr) == (1, True)
    assert not (installation.home / ".claude.json").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nosuch"], "nosuch"),
        (["cursor", "--token", "t"], "belong to --http"),
        (["cursor", "--http", "ftp://h/mcp"], "a URL such as"),
        (["cursor", "--http", "http://h/mcp", "--token", "two words"], "--token"),
        (["cursor", "--http", "http://h/mcp", "--tenant", "no tenant"], "--tenant"),
        (["cursor", "--project", "--http", "http://h/mcp", "--token", "t"], "--token-env"),
        (["cursor", "--print", "--remove"], "exclude each other"),
        (["cursor", "--with-hooks"], "hooks for Claude Code only"),
        (["claude-desktop", "--http", "https://h/mcp"], "under Connectors"),
        (["claude-desktop", "--project"], "no configuration file for one project"),
        (["claude-code", "--with-hooks", "--http", "https://h/mcp"], "local server"),
    ],
)
def test_options_that_do_not_go_together_are_a_usage_error(
    arguments: list[str], told: str, installation: Installation
) -> None:
    ran = installation.run("connect", *arguments, environment={"COLUMNS": "300"})
    assert ran.returncode == 2
    assert told in ran.stderr
    assert not any(installation.home.iterdir())


def test_a_bad_setting_is_named_before_anything_is_written(installation: Installation) -> None:
    ran = installation.run("connect", "cursor", environment={"MEMHUB_TENANT": "no tenant"})
    assert (ran.returncode, "MEMHUB_TENANT" in ran.stderr) == (1, True)
    assert not any(installation.home.iterdir())
