"""The command `memhub connect`: checks what is asked together, and tells what was done."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from urllib.parse import urlsplit

from ops import programs, running
from ops.connecting import connecting, files, servers
from ops.connecting.clients import CLIENTS, Client
from ops.connecting.connecting import Wish
from ops.connecting.files import Change
from ops.connecting.places import Places
from ops.connecting.servers import Local, Remote
from shared import limits
from shared.errors import InvalidArgument

MCP_PATH = "/mcp"

_TOKEN = re.compile(r"[\x21-\x7e]{1,4096}", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}", re.ASCII)


class Misused(ValueError):
    """Options that do not go together, or not with this client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The command line."""

    client: str
    http: str | None = None
    token: str | None = None
    token_variable: str | None = None
    tenant: str | None = None
    memory_project: str | None = None
    project: bool = False
    with_hooks: bool = False
    with_rules: bool = False
    print_only: bool = False
    remove: bool = False


def run(asked: Asked) -> None:
    """Connects, prints or removes. Raises Misused, ClientFileRefused, NotInstalled, ConfigurationError."""
    client, places = CLIENTS[asked.client], Places.here()
    _check(asked, client)
    if asked.remove:
        changes = connecting.disconnect(client, places, project=asked.project)
        _tell(changes, f"{client.title}: memhub was not in it.")
        _tell_backups(changes)
        return
    wish = Wish(
        client=client,
        server=_server(asked),
        project=asked.project,
        hook_program=programs.program("memhub") if asked.with_hooks else None,
        rules=asked.with_rules,
    )
    if asked.print_only:
        print(f"For {connecting.config_file(client, places, project=asked.project)}:", file=sys.stderr)
        print(connecting.shown(wish))
        return
    changes = connecting.connect(wish, places)
    _tell(changes, f"{client.title} is connected already.")
    _warn(wish)
    if any(change.done for change in changes):
        _explain(wish)


def _check(asked: Asked, client: Client) -> None:
    problems = {
        "--print and --remove exclude each other": asked.print_only and asked.remove,
        "--token, --token-env and --tenant belong to --http": not asked.http
        and (asked.token or asked.token_variable or asked.tenant),
        "--token and --token-env exclude each other": asked.token and asked.token_variable,
        "the file of a project is shared by its repository: use --token-env instead of --token": asked.project
        and asked.token,
        f"{client.title} has no configuration file for one project": asked.project and client.project_file is None,
        f"{client.title}'s file takes local servers only; add the URL in its settings, under Connectors": asked.http
        and client.remote is None,
        f"{client.title} has no hooks": asked.with_hooks and not client.hooks,
        "the hook reads the database itself: it goes with a local server, not with --http": asked.with_hooks
        and asked.http,
        "--http: a URL such as http://127.0.0.1:3000/mcp": asked.http and not _is_url(asked.http),
        "--token: up to 4,096 printable ASCII characters": asked.token and not _TOKEN.fullmatch(asked.token),
        "--token-env: the name of a variable": asked.token_variable and not _VARIABLE.fullmatch(asked.token_variable),
    }
    for problem, is_there in problems.items():
        if is_there:
            raise Misused(problem)


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0 and text.isprintable()
    except ValueError:
        return False


def _server(asked: Asked) -> Local | Remote:
    loaded = running.loaded()
    try:
        project = limits.project(asked.memory_project, "--memory-project") if asked.memory_project else None
        tenant = limits.tenant(asked.tenant, "--tenant") if asked.tenant else None
    except InvalidArgument as invalid:
        raise Misused(invalid.message) from None
    if asked.http is None:
        carried = servers.carried(os.environ, shared=asked.project)
        return Local(programs.program("memhub-server"), carried | ({"MEMHUB_PROJECT": str(project)} if project else {}))
    has_token = asked.token or asked.token_variable
    headers = {"X-Memory-Tenant": tenant or ("" if has_token else loaded.tenant), "X-Memory-Project": project}
    return Remote(
        url=_endpoint(asked.http),
        token=asked.token,
        token_variable=asked.token_variable,
        headers={name: str(value) for name, value in headers.items() if value},
    )


def _endpoint(url: str) -> str:
    """The URL as given; one that ends at the host is completed with the path that memhub-server answers at."""
    parts = urlsplit(url)
    if parts.path.strip("/") or parts.query or parts.fragment:
        return url
    completed = parts._replace(path=MCP_PATH).geturl()
    print(f"{url} names no path: {completed} is written, where memhub-server answers.", file=sys.stderr)
    return completed


def _tell(changes: list[Change], nothing: str) -> None:
    for change in changes:
        if change.done:
            kept = f"; what it held before is kept in {change.backup}" if change.backup else ""
            print(f"{'Wrote' if change.path.exists() else 'Removed'} {change.path}{kept}.")
    if not any(change.done for change in changes):
        print(nothing)


def _tell_backups(changes: list[Change]) -> None:
    """They are not ours to remove: they hold what people wrote. But one may hold a token."""
    kept = [backup for change in changes if (backup := files.backup_of(change.path)).exists()]
    if kept:
        print(f"From before memhub, yours to delete once nothing is missing: {', '.join(map(str, kept))}")


def _warn(wish: Wish) -> None:
    """What holds however often it is connected."""
    if wish.project:
        left = sorted(servers.SECRET & {name for name, value in os.environ.items() if value})
        if isinstance(wish.server, Local) and left:
            print(f"Not written into a file of the repository: {', '.join(left)}.")
        _warn_of_paths(wish)
    if wish.rules and not connecting.rules_of(wish.client, project=wish.project):
        print(f"No rules were written: {_no_rules(wish.client)}.")


def _explain(wish: Wish) -> None:
    """What was written, and what to do now."""
    if isinstance(wish.server, Local) and wish.server.settings:
        print(f"Your settings went along: {', '.join(wish.server.settings)}.")
    print(wish.client.then)


def _warn_of_paths(wish: Wish) -> None:
    """A file that a repository shares is read on machines that have none of these paths."""
    if not isinstance(wish.server, Local):
        return
    paths = [str(wish.server.command), *(f"{name}={wish.server.settings[name]}" for name in _of_paths(wish.server))]
    others = " and .claude/settings.json" if wish.hook_program else ""
    print(
        f"Warning: {wish.client.project_file}{others} of the repository now names paths of this machine:"
        f" {', '.join(paths)}. Do not commit it (a line in .git/info/exclude keeps it out), or connect what"
        " everybody reaches: --http URL --token-env NAME.",
        file=sys.stderr,
    )


def _of_paths(server: Local) -> list[str]:
    return [name for name, value in server.settings.items() if os.path.isabs(value)]


def _no_rules(client: Client) -> str:
    """The server's own instructions reach every client: rules only say more."""
    if client.project_rules:
        return f"{client.title} keeps them per project, run it in a project's folder with --project too"
    return f"{client.title} has no file for them; the server's own instructions reach it"
