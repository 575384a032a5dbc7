"""The few settings that are needed where loading all of them costs too much: their forms, defaults and a quick reading.

pydantic-settings takes 0.2 s to import; a hook that runs before every session has 0.4 s in all.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from shared.domain import LOCAL_TENANT
from shared.errors import ConfigurationError

TENANT_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", re.ASCII)
UUID_PATTERN = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
SLUG_PATTERN = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}[a-z0-9]", re.ASCII)
PROJECT_PATTERN = re.compile(f"{SLUG_PATTERN.pattern}|(?i:{UUID_PATTERN.pattern})", re.ASCII)
CONVERSATION_PATTERN = re.compile(r"[\x21-\x7e]{1,512}", re.ASCII)


def default_data_dir() -> Path:
    """The platform's data folder; root's is a system folder, so that root's home is never opened."""
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        return Path("/var/lib/memhub")
    return Path(platformdirs.user_data_dir("memhub", appauthor=False))


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Where the memory is and whose it is; each field means what it means in Settings."""

    database_url: str | None
    data_dir: Path
    tenant: str
    project: str | None


def whereabouts(environment: Mapping[str, str]) -> Whereabouts:
    """Read as Settings reads it, an empty variable being unset. Raises ConfigurationError."""
    folder = environment.get("MEMHUB_DATA_DIR")
    data_dir = Path(folder).expanduser() if folder else default_data_dir()
    tenant = environment.get("MEMHUB_TENANT") or LOCAL_TENANT
    project = environment.get("MEMHUB_PROJECT") or None
    if (
        not data_dir.is_absolute()
        or not TENANT_PATTERN.fullmatch(tenant)
        or (project is not None and not PROJECT_PATTERN.fullmatch(project))
    ):
        raise ConfigurationError(
            "MEMHUB_DATA_DIR, MEMHUB_TENANT or MEMHUB_PROJECT is not valid.", next="Run `memhub doctor`."
        )
    return Whereabouts(
        database_url=environment.get("MEMHUB_DATABASE_URL") or None,
        data_dir=data_dir,
        tenant=tenant,
        project=project,
    )
