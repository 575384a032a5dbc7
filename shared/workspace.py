"""A folder that is worked in, and the git remote of the repository around it: what leads to a project from there."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from shared import limits
from shared.domain import AliasKind
from shared.errors import InvalidArgument

_PARENTS_MAX = 64
_CONFIG_BYTES_MAX = 256_000
_SECTION = re.compile(r"\s*\[(?P<section>[^\]]*)\]")
# As git reads a value: to the end of the line but for a comment, or within quotes.
_URL = re.compile(r'\s*url\s*=\s*(?:"(?P<quoted>[^"]*)"|(?P<plain>[^#;]*))', re.IGNORECASE)


def aliases_here() -> dict[AliasKind, str]:
    """The aliases of the current folder; none when it was removed."""
    try:
        return aliases(Path.cwd())
    except OSError:
        return {}


def aliases(folder: Path) -> dict[AliasKind, str]:
    """What may lead to a project from there; reads files, runs nothing.

    Nothing from a folder that belongs to no one project: the root, a home. A path that is no Unicode is left out.
    """
    if folder == Path(folder.anchor) or is_home(folder):
        return {}
    found: dict[AliasKind, str] = {}
    with suppress(InvalidArgument):
        if (path := limits.workspace_path(str(folder))) is not None:
            found["workspace_path"] = path
    with suppress(InvalidArgument):
        if (remote := limits.git_remote(git_remote(folder))) is not None:
            found["git_remote"] = remote
    return found


def is_home(folder: Path) -> bool:
    """Whether it is the home of this process's user, as it is named or where links in that lead."""
    home = _home()
    return home is not None and folder in (home, Path(os.path.realpath(home)))


def git_remote(folder: Path) -> str | None:
    """The URL of `origin`, else of the first remote, as the repository's configuration has it.

    A repository without one is its own: its folder's path, so that it is known from every folder inside.
    """
    for parent in (folder, *folder.parents)[:_PARENTS_MAX]:
        marker = parent / ".git"
        if marker.exists():
            config = _git_folder(marker) / "config"
            urls = _remote_urls(_read(config))
            return urls.get('remote "origin"') or next(iter(urls.values()), str(parent) if config.is_file() else None)
    return None


def _home() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:
        return None


def _git_folder(marker: Path) -> Path:
    if marker.is_dir():
        return marker
    linked = marker.parent / _line(marker).removeprefix("gitdir:").strip()
    common = _line(linked / "commondir")
    return Path(os.path.normpath(linked / common)) if common else linked


def _remote_urls(config: str) -> dict[str, str]:
    urls: dict[str, str] = {}
    section = ""
    for line in config.splitlines():
        if heading := _SECTION.match(line):
            section = heading["section"].strip()
        elif section.startswith("remote ") and (entry := _URL.match(line)):
            urls.setdefault(section, entry["quoted"] or (entry["plain"] or "").rstrip())
    return {section: url for section, url in urls.items() if url}


def _line(path: Path) -> str:
    """A path that another file holds: no system takes one with a NUL."""
    return _read(path).partition("\0")[0].strip()


def _read(path: Path) -> str:
    """At most _CONFIG_BYTES_MAX of a file; nothing of what is none, such as a pipe that never ends."""
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            return file.read(_CONFIG_BYTES_MAX).decode("utf-8", "replace")
    except OSError:
        return ""
