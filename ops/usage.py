"""The commands in the order in which people need them, and what is wrong with their arguments in plain words."""

from __future__ import annotations

import typer
import typer.core

_ORDER = (
    "demo", "connect", "up", "status", "doctor", "dashboard", "project", "token", "export", "import", "backup",
    "restore", "purge", "migrate", "reembed", "calibrate", "jobs", "gc", "hook",
)  # fmt: skip

# The library that Typer checks values with speaks of inputs.
_PLAIN = {
    "Value error, ": "",
    "Input should be a valid integer, unable to parse string as an integer": "must be a whole number",
    "Input should be greater than or equal to": "must be at least",
    "Input should be less than or equal to": "must be at most",
    "Input should be": "must be",
}


class Commands(typer.core.TyperGroup):
    """The commands of memhub."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override] # Typer's own kind of context
        return sorted(self.commands, key=_ORDER.index)

    def invoke(self, ctx: typer.Context) -> object:  # type: ignore[override]
        try:
            return super().invoke(ctx)
        except typer.BadParameter as wrong:
            wrong.message = _plain(wrong.message)
            raise


def _plain(message: str) -> str:
    for foreign, plain in _PLAIN.items():
        message = message.replace(foreign, plain)
    return message
