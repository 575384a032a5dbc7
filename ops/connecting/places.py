"""Where programs of people keep their files on each platform."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Places:
    """The home, the platform and the variables by which clients move their folders; `project` is the open folder."""

    home: Path
    project: Path
    platform: str = sys.platform
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @classmethod
    def here(cls) -> Places:
        return cls(home=Path.home(), project=Path.cwd(), environment=os.environ)

    @classmethod
    def of_user(cls) -> Places:
        """For the user's own files alone, wherever they stand. Raises RuntimeError for a user without a home."""
        # The open folder is not asked for: it may have been deleted.
        return cls(home=Path.home(), project=Path(), environment=os.environ)

    def applications(self) -> Path:
        """Where desktop programs keep their settings."""
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        if self.platform == "win32":
            return self._named("APPDATA", self.home / "AppData" / "Roaming")
        return self._named("XDG_CONFIG_HOME", self.home / ".config")

    def claude_code(self) -> Path:
        return self._named("CLAUDE_CONFIG_DIR", self.home / ".claude")

    def claude_code_servers(self) -> Path:
        return self._named("CLAUDE_CONFIG_DIR", self.home) / ".claude.json"

    def codex(self) -> Path:
        return self._named("CODEX_HOME", self.home / ".codex")

    def _named(self, variable: str, otherwise: Path) -> Path:
        named = Path(self.environment.get(variable, ""))
        return named if named.is_absolute() else otherwise
