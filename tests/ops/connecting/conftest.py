"""`memhub connect` in this process, in a home of its own, and the entry that it wrote."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ops.connecting import connecting
from ops.connecting.clients import CLIENTS
from ops.connecting.command import Asked, run
from ops.connecting.places import Places

Connect = Callable[..., str]


@pytest.fixture
def connect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Connect:
    """Runs the command in this process; gives what it printed, on both streams."""
    for folder in ("bin", "home", "project"):
        (tmp_path / folder).mkdir()
    for name in ("memhub", "memhub-server"):
        (tmp_path / "bin" / name).write_text("#!/bin/sh\n")
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setattr("sys.argv", [str(tmp_path / "bin" / "memhub")])
    monkeypatch.chdir(tmp_path / "project")
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "MEMHUB_PROJECT", "MEMHUB_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    def connected(client: str, **asked: Any) -> str:
        run(Asked(client=client, **asked))
        captured = capsys.readouterr()
        return captured.out + captured.err

    return connected


def config(client: str, *, project: bool = False) -> Path:
    return connecting.config_file(CLIENTS[client], Places.here(), project=project)


def entry(client: str, *, project: bool = False) -> dict[str, Any]:
    path, found = config(client, project=project), CLIENTS[client].key
    whole: Any = tomllib.loads(path.read_text()) if path.suffix == ".toml" else json.loads(path.read_text())
    named: dict[str, Any] = whole[found[0]][found[1]]
    return named


def rewrite(client: str, changed: dict[str, Any]) -> None:
    """The user changes the entry, and leaves the file otherwise as the client's form has it."""
    path, form = config(client), CLIENTS[client].form
    path.write_text(form.put(path.read_text(), CLIENTS[client].key, changed))
