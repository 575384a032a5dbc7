"""TOML edited in place by tomlkit: comments and order stay."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from typing import Any

import tomlkit
from tomlkit.exceptions import ParseError, TOMLKitError
from tomlkit.items import InlineTable

from ops.connecting.errors import Malformed


def read(text: str, path: Sequence[str] = ()) -> Any:
    """The value at the path, None where there is none. Raises Malformed."""
    found: Any = _parsed(text).unwrap()
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def put(text: str, path: Sequence[str], value: Any) -> str:
    """The text with the table at the path, unchanged when it says so already. Raises Malformed."""
    document = _parsed(text)
    if read(text, path) == value:
        return text
    try:
        parent = _parent(document, path)
        # Inside an inline table it must be one too.
        parent[path[-1]] = tomlkit.item(value, parent if isinstance(parent, InlineTable) else None)
        return _checked(document, path, value)
    except TOMLKitError as refused:
        raise Malformed(str(refused)) from None


def drop(text: str, path: Sequence[str]) -> str:
    """The text without what is at the path. Raises Malformed."""
    if read(text, path) is None:
        return text
    document = _parsed(text)
    del _parent(document, path)[path[-1]]
    return _checked(document, path, None)


def _parsed(text: str) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(text)
    except ParseError as refused:
        raise Malformed(f"line {refused.line}, column {refused.col}: it is no TOML") from None
    except TOMLKitError as refused:
        raise Malformed(str(refused)) from None


def _parent(document: tomlkit.TOMLDocument, path: Sequence[str]) -> MutableMapping[str, Any]:
    parent: MutableMapping[str, Any] = document
    for key in path[:-1]:
        if key not in parent:
            parent[key] = tomlkit.table(is_super_table=True)
        parent = parent[key]
        if not isinstance(parent, MutableMapping):
            raise Malformed(f"{key} is expected to be a table")
    return parent


def _checked(document: tomlkit.TOMLDocument, path: Sequence[str], value: Any) -> str:
    """A file of people is not written from a text that reads back otherwise."""
    text = tomlkit.dumps(document)
    if read(text, path) != value:
        raise Malformed(f"{'.'.join(path)} cannot be changed in it")
    return text
