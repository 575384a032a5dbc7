"""The clients that can be connected: their files, and how each of them writes a server down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from ops.connecting import jsonc, toml
from ops.connecting.places import Places
from ops.connecting.rules import Rules
from ops.connecting.servers import BEARER_VARIABLE, Local, Remote

# Codex gives a server 10 s, and a first start makes the database: 20 s on a small machine.
CODEX_STARTUP_S = 30

Where = Callable[[Places], Path]


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A client program; what is None it does not have."""

    name: str
    title: str
    user_file: Where
    project_file: str | None = None
    key: tuple[str, ...] = ("mcpServers", "memhub")
    form: ModuleType = jsonc
    local: Callable[[Local], dict[str, Any]] = Local.entry
    remote: Callable[[Remote], dict[str, Any]] | None = None
    user_rules: Rules | None = None
    project_rules: Rules | None = None
    hooks: bool = False
    then: str


def _typed_local(local: Local) -> dict[str, Any]:
    return {"type": "stdio"} | local.entry()


def _codex_local(local: Local) -> dict[str, Any]:
    return local.entry() | {"startup_timeout_sec": CODEX_STARTUP_S}


def _typed_remote(remote: Remote, reference: str) -> dict[str, Any]:
    return {"type": "http", "url": remote.url} | _headers(remote, reference)


def _headers(remote: Remote, reference: str) -> dict[str, Any]:
    headers = remote.all_headers(reference)
    return {"headers": headers} if headers else {}


def _codex_remote(remote: Remote) -> dict[str, Any]:
    headers = remote.all_headers(None)
    variable = {BEARER_VARIABLE: remote.token_variable} if remote.token_variable else {}
    return {"url": remote.url} | variable | ({"http_headers": headers} if headers else {})


CLIENTS = {
    client.name: client
    for client in (
        Client(
            name="claude-code",
            title="Claude Code",
            user_file=Places.claude_code_servers,
            project_file=".mcp.json",
            local=_typed_local,
            remote=lambda remote: _typed_remote(remote, "${{{}}}"),
            user_rules=Rules.of_skill(lambda places: places.claude_code() / "skills/memhub/SKILL.md"),
            project_rules=Rules.of_skill(lambda places: places.project / ".claude/skills/memhub/SKILL.md"),
            hooks=True,
            then="Restart Claude Code; /mcp shows memhub.",
        ),
        Client(
            name="claude-desktop",
            title="Claude Desktop",
            user_file=lambda places: places.applications() / "Claude" / "claude_desktop_config.json",
            then="Quit Claude Desktop and start it again.",
        ),
        Client(
            name="cursor",
            title="Cursor",
            user_file=lambda places: places.home / ".cursor" / "mcp.json",
            project_file=".cursor/mcp.json",
            remote=lambda remote: {"url": remote.url} | _headers(remote, "${{env:{}}}"),
            project_rules=Rules.of_cursor(lambda places: places.project / ".cursor/rules/memhub.mdc"),
            then="Switch memhub on in Cursor's settings, under MCP, if it is not.",
        ),
        Client(
            name="codex",
            title="Codex",
            user_file=lambda places: places.codex() / "config.toml",
            project_file=".codex/config.toml",
            key=("mcp_servers", "memhub"),
            form=toml,
            local=_codex_local,
            remote=_codex_remote,
            user_rules=Rules.of_block(lambda places: places.codex() / "AGENTS.md"),
            project_rules=Rules.of_block(lambda places: places.project / "AGENTS.md"),
            then="Restart Codex; /mcp shows memhub.",
        ),
        Client(
            name="vscode",
            title="VS Code",
            user_file=lambda places: places.applications() / "Code" / "User" / "mcp.json",
            project_file=".vscode/mcp.json",
            key=("servers", "memhub"),
            local=_typed_local,
            remote=lambda remote: _typed_remote(remote, "${{env:{}}}"),
            user_rules=Rules.of_copilot(
                lambda places: places.applications() / "Code/User/prompts/memhub.instructions.md"
            ),
            project_rules=Rules.of_copilot(
                lambda places: places.project / ".github/instructions/memhub.instructions.md"
            ),
            then="In VS Code, MCP: List Servers shows memhub; start it there.",
        ),
        Client(
            name="windsurf",
            title="Windsurf",
            user_file=lambda places: places.home / ".codeium" / "windsurf" / "mcp_config.json",
            remote=lambda remote: {"serverUrl": remote.url} | _headers(remote, "${{env:{}}}"),
            user_rules=Rules.of_block(lambda places: places.home / ".codeium/windsurf/memories/global_rules.md"),
            then="Refresh the MCP servers in Cascade.",
        ),
    )
}
