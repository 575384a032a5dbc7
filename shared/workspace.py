"""A folder that is worked in, and the git remote of the repository around it: what leads to a project from there."""

from __future__ import annotations

import os
import re
from pathlib import Path

from shared import limits
from shared.domain import AliasKind
from shared.errors import InvalidArgument

_PARENTS_MAX = 64
_CONFIG_BYTES_MAX = 256_000
_SECTION = re.compile(r"\s*\[(?P<section>[^\]]*)\]")
_URL = re.compile(r"\s*url\s*=\s*(?P<url>\S+)", re.IGNORECASE)


def aliases_here() -> dict[AliasKind, str]:
    """The aliases of the current folder; none when it was removed."""
    try:
        return aliases(Path.cwd())
    except OSError:
        return {}


def aliases(folder: Path) -> dict[AliasKind, str]:
    """What may lead to a project from there; reads files, runs nothing."""
    found: dict[AliasKind, str] = {}
    remote = git_remote(folder)
    try:
        found["workspace_path"] = limits.canonical_workspace_path(str(folder))
        if remote is not None:
            found["git_remote"] = limits.canonical_git_remote(remote)
    except InvalidArgument:
        pass
    return found


def git_remote(folder: Path) -> str | None:
    """The URL of `origin`, else of the first remote, as the repository's configuration has it."""
    for parent in (folder, *folder.parents)[:_PARENTS_MAX]:
        marker = parent / ".git"
        if marker.exists():
            urls = _remote_urls(_read(_git_folder(marker) / "config"))
            return urls.get('remote "origin"') or next(iter(urls.values()), None)
    return None


def _git_folder(marker: Path) -> Path:
    if marker.is_dir():
        return marker
    linked = marker.parent / _read(marker).removeprefix("gitdir:").strip()
    common = _read(linked / "commondir").strip()
    return Path(os.path.normpath(linked / common)) if common else linked


def _remote_urls(config: str) -> dict[str, str]:
    urls: dict[str, str] = {}
    section = ""
    for line in config.splitlines():
        if heading := _SECTION.match(line):
            section = heading["section"].strip()
        elif section.startswith("remote ") and (entry := _URL.match(line)):
            urls.setdefault(section, entry["url"])
    return urls


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_CONFIG_BYTES_MAX).decode("utf-8", "replace")
    except OSError:
        return ""
