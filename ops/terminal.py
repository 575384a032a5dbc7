"""What commands show: every text as it is, whoever wrote it, with nothing in it that a terminal would obey."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from ops.texts import shown


class Terminal(Console):
    """A console for which text is text: no markup, no emoji codes, no colours of its own."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(shown(text), **options)
