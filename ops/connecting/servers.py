"""How a client reaches memhub: a program to start, or a server over HTTP."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ops.connecting.errors import NotInstalled
from shared.settings import Settings

# They belong to one shell or one client, not to every client that is connected.
NOT_CARRIED = frozenset({"MEMHUB_CLIENT", "MEMHUB_CONVERSATION", "MEMHUB_LOG_LEVEL"})
SECRET = frozenset({"MEMHUB_DATABASE_URL", "MEMHUB_API_KEY", "MEMHUB_EMBEDDING_API_KEY"})


@dataclass(frozen=True, slots=True)
class Local:
    """memhub-server, started by the client over stdio with these settings in its environment."""

    command: Path
    settings: Mapping[str, str]

    def entry(self) -> dict[str, Any]:
        entry: dict[str, Any] = {"command": str(self.command), "args": []}
        return entry | ({"env": dict(self.settings)} if self.settings else {})


@dataclass(frozen=True, slots=True)
class Remote:
    """memhub-server --http at a URL; the token is itself or the name of the variable that holds it."""

    url: str
    token: str | None = None
    token_variable: str | None = None
    headers: Mapping[str, str] | None = None

    def all_headers(self, reference: str | None) -> dict[str, str]:
        """Its headers; `reference` is how the client's file writes the variable's value, `{}` standing for its name."""
        token = self.token
        if token is None and self.token_variable and reference:
            token = reference.format(self.token_variable)
        return dict(self.headers or {}) | ({"Authorization": f"Bearer {token}"} if token else {})


def program(name: str) -> Path:
    """The absolute path of a program of memhub: beside this one, else on the PATH. Raises NotInstalled."""
    for folder in (Path(sys.argv[0]).parent, Path(sys.executable).parent, None):
        found = shutil.which(name, path=None if folder is None else str(folder.absolute()))
        if found:
            return Path(found).absolute()
    raise NotInstalled(f"{name} is not beside {sys.argv[0]}, nor on the PATH.", next="Install memhub as a package.")


def carried(environment: Mapping[str, str], *, shared: bool) -> dict[str, str]:
    """The settings of this environment that the client's server needs too; no secrets in a file that is `shared`."""
    names = {f"MEMHUB_{name.upper()}" for name in Settings.model_fields} - NOT_CARRIED - (SECRET if shared else set())
    return {name: environment[name] for name in sorted(names) if environment.get(name)}
