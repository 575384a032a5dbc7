from pathlib import Path

import pytest

from ops.connecting.clients import CLIENTS
from ops.connecting.places import Places

HOME = Path("/home/ada")


@pytest.mark.parametrize(
    ("client", "platform", "path"),
    [
        ("claude-code", "linux", ".claude.json"),
        ("claude-desktop", "linux", ".config/Claude/claude_desktop_config.json"),
        ("claude-desktop", "darwin", "Library/Application Support/Claude/claude_desktop_config.json"),
        ("claude-desktop", "win32", "AppData/Roaming/Claude/claude_desktop_config.json"),
        ("cursor", "darwin", ".cursor/mcp.json"),
        ("codex", "linux", ".codex/config.toml"),
        ("vscode", "linux", ".config/Code/User/mcp.json"),
        ("vscode", "darwin", "Library/Application Support/Code/User/mcp.json"),
        ("windsurf", "linux", ".codeium/windsurf/mcp_config.json"),
    ],
)
def test_each_client_is_found_where_it_keeps_its_file(client: str, platform: str, path: str) -> None:
    places = Places(home=HOME, project=Path("/project"), platform=platform)
    assert CLIENTS[client].user_file(places) == HOME / path


@pytest.mark.parametrize(
    ("client", "variable", "path"),
    [
        ("claude-code", "CLAUDE_CONFIG_DIR", "/elsewhere/.claude.json"),
        ("codex", "CODEX_HOME", "/elsewhere/config.toml"),
        ("vscode", "XDG_CONFIG_HOME", "/elsewhere/Code/User/mcp.json"),
    ],
)
def test_a_folder_that_the_client_was_told_of_is_followed(client: str, variable: str, path: str) -> None:
    places = Places(home=HOME, project=Path("/project"), platform="linux", environment={variable: "/elsewhere"})
    assert CLIENTS[client].user_file(places) == Path(path)
