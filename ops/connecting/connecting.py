"""`memhub connect`: what is asked, checked, and then written, printed or removed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ops.connecting import files, hooks
from ops.connecting.clients import Client
from ops.connecting.entries import Standing, merged
from ops.connecting.files import Change, Edit
from ops.connecting.parts import Part
from ops.connecting.places import Places
from ops.connecting.rules import Rules
from ops.connecting.servers import Local, Remote


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """Which client is to reach what, from which of its files; without a server its entry is left alone."""

    client: Client
    server: Local | Remote | None
    project: bool = False
    hook_program: Path | None = None
    rules: bool = False


def standing(client: Client, places: Places, *, project: bool) -> Standing:
    """What the client's file says of memhub now. Raises ClientFileRefused."""
    return Standing.of(Part.of_entry(config_file(client, places, project=project), client).read())


def entry(wish: Wish, before: Standing) -> dict[str, Any]:
    """The server as this client writes it down, with what stands of the entry before."""
    if wish.server is None:
        return dict(before.entry)
    if isinstance(wish.server, Local):
        return merged(before, wish.client.local(wish.server), wish.server)
    assert wish.client.remote is not None
    return merged(before, wish.client.remote(wish.server), wish.server)


def config_file(client: Client, places: Places, *, project: bool) -> Path:
    return places.project / str(client.project_file) if project else client.user_file(places)


def shown(wish: Wish, places: Places) -> list[tuple[Path, str]]:
    """What `connect` would put into which file, each as a file of its own. Raises ClientFileRefused."""
    steps = _steps(wish, places, standing(wish.client, places, project=wish.project))
    return [(step.part.path, step.ours(step.part.read())) for step in steps]


def connect(wish: Wish, places: Places) -> list[Change]:
    """Writes the entry, the hook and the rules that are wished for, or nothing. Raises ClientFileRefused."""
    steps = _steps(wish, places, standing(wish.client, places, project=wish.project))
    return _applied([(step.part, step.edit) for step in steps], project=wish.project)


def disconnect(client: Client, places: Places, *, project: bool, rules_only: bool = False) -> list[Change]:
    """Removes what `connect` may have written there; files and folders that it made and that hold nothing else go."""
    parts = [] if rules_only else [Part.of_entry(config_file(client, places, project=project), client)]
    if client.hooks and not rules_only:
        parts.append(Part.of_hook(_hook_file(places, project=project)))
    if rules := rules_of(client, project=project):
        parts.append(Part.of_rules(rules.path(places), rules))
    changes = _applied([(part, part.removed) for part in parts], project=project)
    if project:
        files.remove_empty((change.path for change in changes if change.done), within=places.project)
    else:
        files.remove_made(change.path for change in changes)
    return changes


def rules_of(client: Client, *, project: bool) -> Rules | None:
    return client.project_rules if project else client.user_rules


@dataclass(frozen=True, slots=True)
class _Step:
    """A part, and `put`, which puts ours into a text; it is given what was found of ours there before."""

    part: Part
    put: Callable[[str, Any], str]

    def edit(self, text: str) -> str:
        return self.put(self.part.base(text), self.part.found(text))

    def ours(self, found: Any) -> str:
        return self.put("", found).strip()


def _steps(wish: Wish, places: Places, before: Standing) -> list[_Step]:
    client, steps = wish.client, []
    if wish.server is not None:
        config = Part.of_entry(config_file(client, places, project=wish.project), client)
        steps.append(_Step(config, lambda text, found: config.put(text, entry(wish, Standing.of(found)))))
    if (program := wish.hook_program) is not None:
        settings = Standing.of(entry(wish, before)).settings
        hook = Part.of_hook(_hook_file(places, project=wish.project))
        steps.append(_Step(hook, lambda text, _found: hooks.installed(text, program, settings)))
    if wish.rules and (rules := rules_of(client, project=wish.project)):
        told = Part.of_rules(rules.path(places), rules)
        steps.append(_Step(told, lambda text, _found: rules.installed(text)))
    return steps


def _applied(edits: list[tuple[Part, Edit]], *, project: bool) -> list[Change]:
    for part, edit in edits:
        part.check(edit)
    return [part.change(edit, marks=not project) for part, edit in edits]


def _hook_file(places: Places, *, project: bool) -> Path:
    return hooks.settings_file(places.project / ".claude" if project else places.claude_code())
