"""What the clients of this user say of memhub, looked at and left alone."""

from __future__ import annotations

import os
import shutil

from ops.connecting import connecting, files, hooks
from ops.connecting.clients import CLIENTS, Client
from ops.connecting.entries import Standing, without_secrets
from ops.connecting.errors import ClientFileRefused, Malformed
from ops.connecting.places import Places
from ops.finding import Finding

_MENTION = "memhub"


def findings(places: Places) -> list[Finding]:
    """One for each client that is connected, or whose file cannot be read, and one for the hook."""
    found = [_of_client(client, places) for client in CLIENTS.values()]
    return [finding for finding in (*found, _of_hook(places)) if finding is not None]


def _of_client(client: Client, places: Places) -> Finding | None:
    # Nor is one connected whose folder this user may not look into.
    if not os.path.lexists(client.user_file(places)):
        return None
    try:
        if _MENTION not in files.text(client.user_file(places)):
            return None
        standing = connecting.standing(client, places, project=False)
    except ClientFileRefused as refused:
        return Finding(client.name, False, refused.message, refused.next)
    return _of_entry(client, standing) if standing.entry else None


def _of_entry(client: Client, standing: Standing) -> Finding:
    if standing.url is not None:
        return Finding(client.name, True, f"goes over HTTP to {without_secrets(standing.url)}")
    if standing.command is not None and _is_program(standing.command):
        return Finding(client.name, True, f"starts {standing.command}")
    again = f"memhub connect {client.name}{' --local' if standing.starts_another else ''}"
    return Finding(client.name, False, f"starts {standing.command or 'nothing'}, which is no program here", again)


def _of_hook(places: Places) -> Finding | None:
    """What fails in it is silent: a session of Claude Code begins without memories."""
    path = hooks.settings_file(places.claude_code())
    if not os.path.lexists(path):
        return None
    name, again = "claude-code hook", "memhub connect claude-code --with-hooks"
    try:
        text = files.text(path)
        program = hooks.program(text) if _MENTION in text else None
    except ClientFileRefused as refused:
        return Finding(name, False, refused.message, refused.next)
    except Malformed as malformed:
        return Finding(name, False, f"{path}: {malformed}.", f"Mend the file, then: {again}")
    if program is None:
        return None
    if _is_program(program):
        return Finding(name, True, f"runs {program}")
    return Finding(name, False, f"runs {program}, which is no program here", again)


def _is_program(command: str) -> bool:
    if os.path.isabs(command):
        # Path.is_file raises for a folder that this user may not look into.
        return os.path.isfile(command) and os.access(command, os.X_OK)
    return shutil.which(command) is not None
