"""How a client reaches memhub: a program to start, or a server over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shared.settings import Settings

# They belong to one shell or one client, or to the server over HTTP, not to every client that is connected.
NOT_CARRIED = ("MEMHUB_CLIENT", "MEMHUB_CONVERSATION", "MEMHUB_LOG_LEVEL", "MEMHUB_API_KEY", "MEMHUB_OAUTH_")
# Exported in a shell it is the project of one folder; in a file for all folders it would be that of every repository.
PROJECT = "MEMHUB_PROJECT"
SECRET = frozenset({"MEMHUB_DATABASE_URL", "MEMHUB_DATABASE_DIRECT_URL", "MEMHUB_EMBEDDING_API_KEY"})


SERVER_PROGRAM = "memhub-server"
AUTHORIZATION = "Authorization"
# Codex's own field for the name of the variable.
BEARER_VARIABLE = "bearer_token_env_var"
TENANT_HEADER = "X-Memory-Tenant"
PROJECT_HEADER = "X-Memory-Project"


@dataclass(frozen=True, slots=True)
class Local:
    """memhub-server, started by the client over stdio with these settings in its environment.

    It `replaces` also what starts another program; `without` names what is to go from the entry that stands.
    """

    command: Path
    settings: Mapping[str, str]
    replaces: bool = False
    without: frozenset[str] = frozenset()

    def entry(self) -> dict[str, Any]:
        entry: dict[str, Any] = {"command": str(self.command), "args": []}
        return entry | ({"env": dict(self.settings)} if self.settings else {})


@dataclass(frozen=True, slots=True)
class Remote:
    """memhub-server --http at a URL; the token is itself or the name of the variable that holds it.

    `without` names what is to go from the entry that stands.
    """

    url: str
    token: str | None = None
    token_variable: str | None = None
    headers: Mapping[str, str] | None = None
    without: frozenset[str] = frozenset()

    def all_headers(self, reference: str | None) -> dict[str, str]:
        """Its headers; `reference` is how the client's file writes the variable's value, `{}` standing for its name."""
        token = self.token
        if token is None and self.token_variable and reference:
            token = reference.format(self.token_variable)
        return dict(self.headers or {}) | ({AUTHORIZATION: f"Bearer {token}"} if token else {})


def carried(environment: Mapping[str, str], *, shared: bool) -> dict[str, str]:
    """The settings of this environment that the client's server needs too.

    A file that is `shared` by a repository gets no secrets, one for all folders no project.
    """
    names = sorted(f"MEMHUB_{name.upper()}" for name in Settings.model_fields)
    left = SECRET if shared else {PROJECT}
    carried = [name for name in names if not name.startswith(NOT_CARRIED) and name not in left]
    return {name: environment[name] for name in carried if environment.get(name)}
