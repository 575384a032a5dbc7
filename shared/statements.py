"""The loader of named SQL statements from shared/sql/*.sql."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import resources

_HEADER = re.compile(r"^-- name: *(\S+) *$", re.MULTILINE)
_COMMENT = re.compile(r"^ *--.*\n?", re.MULTILINE)
_FOLDER = resources.files("shared") / "sql"


def load(stem: str) -> Mapping[str, str]:
    """The statements of shared/sql/{stem}.sql by name, without their comments.

    Bind them to module constants: a name that the file lacks then raises KeyError at import.
    """
    return parse(stem, (_FOLDER / f"{stem}.sql").read_text(encoding="utf-8"))


def stems() -> list[str]:
    """The name of every file that `load` takes, in order."""
    return sorted(file.name.removesuffix(".sql") for file in _FOLDER.iterdir() if file.name.endswith(".sql"))


def parse(stem: str, text: str) -> Mapping[str, str]:
    _, *parts = _HEADER.split(text)
    found = _Statements(stem)
    for name, body in zip(parts[::2], parts[1::2], strict=True):
        statement = without_comments(body).removesuffix(";").rstrip()
        if name in found or not statement:
            raise ValueError(f"{stem}.sql: statement {name} is empty or written twice")
        found[name] = statement
    return found


def without_comments(text: str) -> str:
    """The text without its comment lines and outer white space; empty when there is nothing to run."""
    return _COMMENT.sub("", text).strip()


class _Statements(dict[str, str]):
    def __init__(self, stem: str) -> None:
        super().__init__()
        self._stem = stem

    def __missing__(self, name: str) -> str:
        raise KeyError(f"{self._stem}.sql has no statement {name}; it has: {', '.join(sorted(self))}")
