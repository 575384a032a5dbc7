"""`memhub connect`: what is asked, checked, and then written, printed or removed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ops.connecting import files, hooks
from ops.connecting.clients import Client
from ops.connecting.files import Change, Edit
from ops.connecting.parts import Part
from ops.connecting.places import Places
from ops.connecting.rules import Rules
from ops.connecting.servers import Local, Remote


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """Which client is to reach what, from which of its files."""

    client: Client
    server: Local | Remote
    project: bool = False
    hook_program: Path | None = None
    rules: bool = False


def entry(wish: Wish) -> dict[str, Any]:
    """The server as this client writes it down."""
    if isinstance(wish.server, Local):
        return wish.client.local(wish.server)
    assert wish.client.remote is not None
    return wish.client.remote(wish.server)


def shown(wish: Wish) -> str:
    """What `connect` would put into the client's file, as a file of its own."""
    return str(wish.client.form.put("", wish.client.key, entry(wish))).strip()


def config_file(client: Client, places: Places, *, project: bool) -> Path:
    return places.project / str(client.project_file) if project else client.user_file(places)


def connect(wish: Wish, places: Places) -> list[Change]:
    """Writes the entry, the hook and the rules that are wished for, or nothing. Raises ClientFileRefused."""
    client = wish.client
    config = Part.of_entry(config_file(client, places, project=wish.project), client)
    edits: list[tuple[Part, Edit]] = [(config, lambda text: config.put(config.base(text), entry(wish)))]
    if (program := wish.hook_program) is not None:
        settings = wish.server.settings if isinstance(wish.server, Local) else {}
        hook = Part.of_hook(_hook_file(places, project=wish.project))
        edits.append((hook, lambda text: hooks.installed(hook.base(text), program, settings)))
    if wish.rules and (rules := rules_of(client, project=wish.project)):
        told = Part.of_rules(rules.path(places), rules)
        edits.append((told, lambda text: rules.installed(told.base(text))))
    return _applied(edits)


def disconnect(client: Client, places: Places, *, project: bool) -> list[Change]:
    """Removes what `connect` may have written there; files and folders that it made and that hold nothing else go."""
    parts = [Part.of_entry(config_file(client, places, project=project), client)]
    if client.hooks:
        parts.append(Part.of_hook(_hook_file(places, project=project)))
    if rules := rules_of(client, project=project):
        parts.append(Part.of_rules(rules.path(places), rules))
    changes = _applied([(part, part.removed) for part in parts])
    files.remove_made(change.path for change in changes)
    return changes


def rules_of(client: Client, *, project: bool) -> Rules | None:
    return client.project_rules if project else client.user_rules


def _applied(edits: list[tuple[Part, Edit]]) -> list[Change]:
    for part, edit in edits:
        part.check(edit)
    return [part.change(edit) for part, edit in edits]


def _hook_file(places: Places, *, project: bool) -> Path:
    return hooks.settings_file(places.project / ".claude" if project else places.claude_code())
