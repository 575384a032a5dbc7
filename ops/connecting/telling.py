"""What `memhub connect` tells of what it wrote, left out, printed or removed; never the value of a secret."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from ops.connecting import connecting, files, servers
from ops.connecting.clients import Client
from ops.connecting.connecting import Wish
from ops.connecting.entries import Standing, dropped, without_secrets
from ops.connecting.files import Change
from ops.connecting.servers import Local, Remote
from ops.words import counted


def connected(wish: Wish, changes: list[Change], before: Standing, *, names_project: bool) -> None:
    """`names_project`: the command line does, and needs not be told of it."""
    _tell(changes, _unchanged(wish))
    _warn(wish, before)
    if wish.server is None:
        return
    if any(change.done for change in changes):
        if names := _went_along(wish, before, names_project=names_project):
            print(f"Your settings went along: {', '.join(names)}.")
        print(wish.client.then)


def printed(wish: Wish, texts: list[tuple[Path, str]], before: Standing) -> None:
    """The texts on standard output, all else beside it."""
    for path, text in texts:
        print(f"For {path}:", file=sys.stderr, flush=True)
        print(text, flush=True)
    for line in _of_entry(wish, before):
        print(line, file=sys.stderr)


def removed(client: Client, changes: list[Change], before: Standing, *, rules_only: bool) -> None:
    _tell(changes, f"{client.title}{' has no rules of memhub' if rules_only else ': memhub was not in it'}.")
    # The first change is the entry's.
    if before.has_token and not rules_only and changes[0].done:
        print("Its token still works: `memhub token list` shows it, `memhub token revoke ID` ends it.")
    # They are not ours to remove: they hold what people wrote. But one may hold a token.
    kept = [backup for change in changes if (backup := files.backup_of(change.path)).exists()]
    if kept:
        print(f"From before memhub, yours to delete once nothing is missing: {', '.join(map(str, kept))}")


def no_rules(client: Client) -> str:
    """The server's own instructions reach every client: rules only say more."""
    if client.project_rules:
        return f"{client.title} keeps them per project, run it in a project's folder with --project --rules-only"
    return f"{client.title} has no file for them; the server's own instructions reach it"


def _tell(changes: list[Change], nothing: str) -> None:
    for change in changes:
        if change.done:
            kept = f"; what it held before is kept in {change.backup}" if change.backup else ""
            print(f"{'Wrote' if change.path.exists() else 'Removed'} {change.path}{kept}.")
        if change.names_left:
            print(f"{counted(change.names_left, 'hard link')} to it holds still what it held before: link it anew.")
    if not any(change.done for change in changes):
        print(nothing)


def _unchanged(wish: Wish) -> str:
    return f"{wish.client.title} {'has these rules' if wish.server is None else 'is connected'} already."


def _warn(wish: Wish, before: Standing) -> None:
    """What holds however often it is connected."""
    for line in _of_entry(wish, before):
        print(line)
    if wish.project and isinstance(wish.server, Local):
        if left := sorted(servers.SECRET & {name for name, value in os.environ.items() if value}):
            print(f"Not written into a file of the repository: {', '.join(left)}.")
        _warn_of_paths(wish, Standing(connecting.entry(wish, before)))
    if wish.rules and not connecting.rules_of(wish.client, project=wish.project):
        print(f"No rules were written: {no_rules(wish.client)}.")


def _of_entry(wish: Wish, before: Standing) -> list[str]:
    if wish.server is None:
        return []
    entry = connecting.entry(wish, before)
    lines = [f"No longer in the entry: {', '.join(gone)}."] if (gone := dropped(before, entry)) else []
    return lines + (
        _of_local(wish, entry) if isinstance(wish.server, Local) else _of_remote(wish.server, entry, before)
    )


def _of_local(wish: Wish, entry: dict[str, Any]) -> list[str]:
    now, lines = Standing(entry), []
    if now.starts_another:
        lines.append(f"It still starts {now.command}, as you have it; --local writes memhub-server in its place.")
    if not wish.project and now.project is None and os.environ.get(servers.PROJECT):
        lines.append(
            f"{servers.PROJECT} of this shell was left out: it would be the project of every folder;"
            " --memory-project NAME sets one."
        )
    return lines + _of_project(now)


def _of_remote(server: Remote, entry: dict[str, Any], before: Standing) -> list[str]:
    now, lines = Standing(entry), []
    if before.url == server.url:
        lines.append(f"It goes over HTTP to {without_secrets(server.url)}; --local makes it start memhub-server.")
    if now.project is None:
        lines.append(
            "Calls that name no project go to the project `default`, from every repository, unless the token is bound"
            " to one; --memory-project NAME sets another."
        )
    return lines + _of_project(now)


def _of_project(now: Standing) -> list[str]:
    return [f"Calls that name no project go to {now.project}."] if now.project is not None else []


def _went_along(wish: Wish, before: Standing, *, names_project: bool) -> list[str]:
    if not isinstance(wish.server, Local):
        return []
    stood = {servers.PROJECT: before.project} | before.environment
    return [
        name
        for name, value in wish.server.settings.items()
        if stood.get(name) != value and not (names_project and name == servers.PROJECT)
    ]


def _warn_of_paths(wish: Wish, entry: Standing) -> None:
    """A file that a repository shares is read on machines that have none of these paths."""
    named = [f"{name}={value}" for name, value in entry.settings.items() if os.path.isabs(value)]
    paths = [*([entry.command] if entry.command and os.path.isabs(entry.command) else []), *named]
    if not paths:
        return
    others = " and .claude/settings.json" if wish.hook_program else ""
    print(
        f"Warning: {wish.client.project_file}{others} of the repository now names paths of this machine:"
        f" {', '.join(paths)}. Do not commit it (a line in .git/info/exclude keeps it out), or connect what"
        " everybody reaches: --http URL --token-env NAME.",
        file=sys.stderr,
    )
