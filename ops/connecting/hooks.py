"""The SessionStart hook in Claude Code's settings, which shows a new session what the project remembers."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ops.connecting import jsonc
from ops.connecting.errors import Malformed

KEY = ("hooks", "SessionStart")
# A resumed session still has what it was shown.
MATCHER = "startup|clear|compact"
TIMEOUT_S = 10
_ENDING = "hook session-start"


def settings_file(folder: Path) -> Path:
    return folder / "settings.json"


def installed(text: str, program: Path, settings: Mapping[str, str]) -> str:
    """The settings with our hook, once. Raises Malformed."""
    assigned = [f"{name}={shlex.quote(value)}" for name, value in settings.items()]
    command = " ".join([*assigned, shlex.quote(str(program)), _ENDING])
    hook = {"type": "command", "command": command, "timeout": TIMEOUT_S}
    return put(text, [{"matcher": MATCHER, "hooks": [hook]}])


def put(text: str, ours: list[Any]) -> str:
    """The settings with these groups as ours. Raises Malformed."""
    return jsonc.put(text, KEY, [*_others(text), *ours])


def found(text: str) -> list[Any] | None:
    """The groups that hold our hook, None where there is none. Raises Malformed."""
    others = _others(text)
    return [group for group in jsonc.read(text, KEY) or [] if group not in others] or None


def program(text: str) -> str | None:
    """The program that our hook runs, None where there is none. Raises Malformed."""
    commands = (hook["command"] for group in found(text) or [] for hook in group["hooks"] if _is_ours(hook))
    for command in commands:
        with suppress(ValueError, IndexError):
            return shlex.split(command)[-len(_ENDING.split()) - 1]
    return None


def is_bare(text: str) -> bool:
    """Whether nothing but the way to our hook is left."""
    return jsonc.is_bare(text, KEY)


def removed(text: str) -> str | None:
    """The settings without our hook; None when there are none. Raises Malformed."""
    groups = jsonc.read(text, KEY)
    if (others := _others(text)) == (groups or []):
        return text or None
    return jsonc.put(text, KEY, others) if others else jsonc.drop(text, KEY)


def _others(text: str) -> list[Any]:
    groups = jsonc.read(text, KEY)
    if groups is None:
        return []
    if not isinstance(groups, list):
        raise Malformed("hooks.SessionStart is expected to be a list")
    return [rest for group in groups if (rest := _without_ours(group)) is not None]


def _without_ours(group: Any) -> Any | None:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    if not isinstance(hooks, list):
        return group
    others = [hook for hook in hooks if not _is_ours(hook)]
    if len(others) == len(hooks):
        return group
    return group | {"hooks": others} if others else None


def _is_ours(hook: Any) -> bool:
    command = hook.get("command") if isinstance(hook, dict) else None
    return isinstance(command, str) and "memhub" in command and command.endswith(_ENDING)
