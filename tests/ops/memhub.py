"""The command `memhub` as people run it: a process with its own environment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests import forked

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 120

_BOOT = "from ops.cli import main; main()"


def environment(**settings: str) -> dict[str, str]:
    bare = {name: value for name, value in os.environ.items() if not name.startswith("MEMHUB_")}
    return bare | {"PYTHONPATH": str(ROOT), "COLUMNS": "200", "NO_COLOR": "1"} | settings


def start(*arguments: str, **settings: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _BOOT, *arguments],
        env=environment(**settings),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(*arguments: str, stdin: str = "", **settings: str) -> subprocess.CompletedProcess[str]:
    return forked.run(
        "ops.cli", ["memhub", *arguments], env=environment(**settings), cwd=Path.cwd(), timeout=TIMEOUT_S, stdin=stdin
    )
