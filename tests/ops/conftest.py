"""A scratch home, and the programs as an installation has them: absolute, side by side."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WAIT_S = 60
ENTRIES = {"memhub": "ops.main", "memhub-server": "server.main", "memhub-worker": "workers.main"}

Ran = subprocess.CompletedProcess[str]


@dataclass(frozen=True, slots=True)
class Installation:
    """A folder of programs, the home of their user and the folder that is open."""

    programs: Path
    home: Path
    project: Path

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMHUB_", "XDG_", "CLAUDE"))}
        return kept | {"HOME": str(self.home), "PYTHONDONTWRITEBYTECODE": "1"} | dict(extra or {})

    def run(self, *arguments: str, environment: Mapping[str, str] | None = None, stdin: str = "") -> Ran:
        """Run memhub to its end in the open folder."""
        return subprocess.run(
            [self.programs / "memhub", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            cwd=self.project,
            env=self.environment(environment),
            timeout=WAIT_S,
            check=False,
        )


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    made = Installation(tmp_path / "bin", tmp_path / "home", tmp_path / "project")
    for folder in (made.programs, made.home, made.project):
        folder.mkdir()
    for name, module in ENTRIES.items():
        program = made.programs / name
        program.write_text(
            f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(ROOT)!r})\nfrom {module} import main\nmain()\n"
        )
        program.chmod(0o755)
    return made


@pytest.fixture
def memhub(installation: Installation) -> Callable[..., Ran]:
    return installation.run
