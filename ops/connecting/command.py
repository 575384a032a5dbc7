"""The command `memhub connect`: checks what is asked together, and makes a wish of it."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from urllib.parse import urlsplit

from ops import programs, running
from ops.connecting import connecting, servers, telling
from ops.connecting.clients import CLIENTS, Client
from ops.connecting.connecting import Wish
from ops.connecting.entries import Standing, is_same_origin
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
    local: bool = False
    token: str | None = None
    token_variable: str | None = None
    tenant: str | None = None
    memory_project: str | None = None
    project: bool = False
    with_hooks: bool = False
    with_rules: bool = False
    rules_only: bool = False
    print_only: bool = False
    remove: bool = False


def run(asked: Asked) -> None:
    """Connects, prints or removes. Raises Misused, ClientFileRefused, NotInstalled, ConfigurationError."""
    client, places = CLIENTS[asked.client], Places.here()
    _refuse(_alone(asked, client))
    standing = connecting.standing(client, places, project=asked.project)
    if asked.remove:
        changes = connecting.disconnect(client, places, project=asked.project, rules_only=asked.rules_only)
        telling.removed(client, changes, standing, rules_only=asked.rules_only)
        return
    if not asked.rules_only:
        _refuse(_beside(asked, standing))
    wish = _wish(asked, client, standing)
    if asked.print_only:
        telling.printed(wish, connecting.shown(wish, places), standing)
        return
    changes = connecting.connect(wish, places)
    telling.connected(wish, changes, standing, names_project=asked.memory_project is not None)


def _wish(asked: Asked, client: Client, standing: Standing) -> Wish:
    return Wish(
        client=client,
        server=None if asked.rules_only else _server(asked, standing),
        project=asked.project,
        hook_program=programs.program("memhub") if asked.with_hooks else None,
        rules=asked.with_rules or asked.rules_only,
    )


def _refuse(problems: dict[str, object]) -> None:
    for problem, is_there in problems.items():
        if is_there:
            raise Misused(problem)


def _alone(asked: Asked, client: Client) -> dict[str, object]:
    """What cannot be, whatever stands in the client's file."""
    of_entry = (asked.http, asked.local, asked.token, asked.token_variable, asked.tenant, asked.with_hooks)
    no_rules = connecting.rules_of(client, project=asked.project) is None
    return {
        "--print and --remove exclude each other": asked.print_only and asked.remove,
        "--local and --http exclude each other": asked.local and asked.http,
        "--token and --token-env exclude each other": asked.token and asked.token_variable,
        "--rules-only writes no entry: it goes with --project, --print and --remove alone": asked.rules_only
        and (any(of_entry) or asked.memory_project is not None),
        "the file of a project is shared by its repository: use --token-env instead of --token": asked.project
        and asked.token,
        f"{client.title} has no configuration file for one project": asked.project and client.project_file is None,
        f"{client.title}'s file takes local servers only; add the URL in its settings, under Connectors": asked.http
        and client.remote is None,
        f"memhub writes hooks for Claude Code only, none for {client.title}": asked.with_hooks and not client.hooks,
        f"no rules to write: {telling.no_rules(client)}": asked.rules_only and no_rules,
        "--http: a URL such as http://127.0.0.1:3000/mcp": asked.http and not _is_url(asked.http),
        "--token: up to 4,096 printable ASCII characters": asked.token and not _TOKEN.fullmatch(asked.token),
        "--token-env: the name of a variable": asked.token_variable and not _VARIABLE.fullmatch(asked.token_variable),
    }


def _beside(asked: Asked, standing: Standing) -> dict[str, object]:
    """What cannot be with a local server, or with one over HTTP, which may be the one that stands."""
    remote = _is_remote(asked, standing)
    return {
        "--token, --token-env and --tenant belong to --http": not remote
        and (asked.token or asked.token_variable or asked.tenant),
        "the hook reads the database itself: it goes with a local server (--local), not with --http": asked.with_hooks
        and remote,
    }


def _is_remote(asked: Asked, standing: Standing) -> bool:
    can_be = CLIENTS[asked.client].remote is not None
    return bool(asked.http) or (not asked.local and standing.url is not None and can_be)


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0 and text.isprintable()
    except ValueError:
        return False


def _server(asked: Asked, standing: Standing) -> Local | Remote:
    loaded = running.loaded()
    try:
        project = str(limits.project(asked.memory_project, "--memory-project")) if asked.memory_project else None
        tenant = limits.tenant(asked.tenant, "--tenant") if asked.tenant else None
    except InvalidArgument as invalid:
        raise Misused(invalid.message) from None
    if _is_remote(asked, standing):
        return _remote(asked, standing, project=project, tenant=tenant, otherwise=loaded.tenant)
    return _local(asked, standing, project)


def _local(asked: Asked, standing: Standing, project: str | None) -> Local:
    settings = servers.carried(os.environ, shared=asked.project)
    if asked.memory_project is not None:
        settings.pop(servers.PROJECT, None)
    elif servers.PROJECT not in settings:
        project = standing.project
    return Local(
        programs.program(servers.SERVER_PROGRAM),
        settings | ({servers.PROJECT: project} if project else {}),
        replaces=asked.local,
        without=frozenset({servers.PROJECT} if asked.memory_project == "" else ()),
    )


def _remote(asked: Asked, standing: Standing, *, project: str | None, tenant: str | None, otherwise: str) -> Remote:
    """A token, where none is asked, stays with the server that it was given for; one is bound to its tenant."""
    url = _endpoint(asked.http) if asked.http else str(standing.url)
    token_stays = is_same_origin(standing.url, url) and standing.has_token
    asks_token = bool(asked.token or asked.token_variable)
    if asked.memory_project is None:
        project = standing.project
    if tenant is None and not asks_token and not token_stays:
        tenant = standing.tenant or otherwise
    without = {servers.PROJECT_HEADER} if asked.memory_project == "" else set()
    without |= {servers.AUTHORIZATION, servers.BEARER_VARIABLE} if asks_token else set()
    without |= {servers.TENANT_HEADER} if asks_token and not token_stays else set()
    headers = {servers.TENANT_HEADER: tenant, servers.PROJECT_HEADER: project}
    return Remote(
        url=url,
        token=asked.token,
        token_variable=asked.token_variable,
        headers={name: str(value) for name, value in headers.items() if value},
        without=frozenset(without),
    )


def _endpoint(url: str) -> str:
    """The URL as given; one that ends at the host is completed with the path that memhub-server answers at."""
    parts = urlsplit(url)
    if parts.path.strip("/") or parts.query or parts.fragment:
        return url
    completed = parts._replace(path=MCP_PATH).geturl()
    print(f"{url} names no path: {completed} is written, where memhub-server answers.", file=sys.stderr)
    return completed
