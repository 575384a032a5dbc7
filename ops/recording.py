"""`make recording`: the picture of a real run of the demo, for the README."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import anyio
from rich.console import Console
from rich.terminal_theme import MONOKAI

from ops.demo import demonstrate

WIDTH = 108
# The picture asks no other host for a font.
_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def record(path: Path) -> None:
    """Runs the demo on a database of its own, in this terminal, and writes what it printed as SVG."""
    console = Console(record=True, width=WIDTH, force_terminal=True, color_system="truecolor")
    anyio.run(demonstrate, False, console)
    path.write_text(_FONTS.sub("", console.export_svg(title="memhub demo", theme=MONOKAI)), encoding="utf-8")


if __name__ == "__main__":
    record(Path(sys.argv[1]))
