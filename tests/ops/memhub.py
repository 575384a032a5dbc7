"""The command `memhub` as people run it: a process with its own environment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 60

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
    return subprocess.run(
        [sys.executable, "-c", _BOOT, *arguments],
        env=environment(**settings),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
