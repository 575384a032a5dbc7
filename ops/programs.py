"""Where the programs of this installation are."""

from __future__ import annotations

import shutil
import sys
from importlib import resources
from pathlib import Path

from shared.errors import MemhubError


class NotInstalled(MemhubError):
    """A program of memhub that is not where this one is."""

    code = "NOT_INSTALLED"


def program(name: str) -> Path:
    """The absolute path of a program of memhub: beside this one, else on the PATH. Raises NotInstalled."""
    for folder in (Path(sys.argv[0]).parent, Path(sys.executable).parent, None):
        found = shutil.which(name, path=None if folder is None else str(folder.absolute()))
        if found:
            return Path(found).absolute()
    raise NotInstalled(f"{name} is not beside {sys.argv[0]}, nor on the PATH.", next="Install memhub as a package.")


def procfile() -> str:
    """The Procfile's text: in the package, or at the top of a checkout. Raises NotInstalled."""
    packaged = resources.files("ops") / "Procfile"
    for file in (packaged, Path(__file__).parents[1] / "Procfile"):
        if file.is_file():
            return file.read_text(encoding="utf-8")
    raise NotInstalled("The Procfile is missing from this installation.", next="Install memhub as a package.")
