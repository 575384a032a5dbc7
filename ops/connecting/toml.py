"""TOML edited in place by tomlkit: comments and order stay."""

from __future__ import annotations

import re
from collections.abc import MutableMapping, Sequence
from typing import Any

import tomlkit
from tomlkit.exceptions import ParseError, TOMLKitError
from tomlkit.items import InlineTable

from ops.connecting.errors import Malformed

_LONE = re.compile(r"(?<!\r)\n")


def read(text: str, path: Sequence[str] = ()) -> Any:
    """The value at the path, None where there is none. Raises Malformed."""
    found: Any = _parsed(text).unwrap()
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def put(text: str, path: Sequence[str], value: Any) -> str:
    """The text with the table at the path, unchanged when it says so already. Raises Malformed."""
    refused: Exception
    if read(text, path) == value:
        return text
    if read(text, path) is None and (appended := _appended(text, path, value)) is not None:
        return appended
    for change in (_update, _replace):
        try:
            document = _parsed(text)
            change(_parent(document, path), path[-1], value)
            return _checked(text, document, path, value)
        except (TOMLKitError, Malformed) as failure:
            refused = failure
    raise Malformed(str(refused)) from None


def drop(text: str, path: Sequence[str]) -> str:
    """The text without what is at the path. Raises Malformed."""
    if (value := read(text, path)) is None:
        return text
    if (cut := _cut(text, path, value)) is not None:
        return cut
    document = _parsed(text)
    del _parent(document, path)[path[-1]]
    return _checked(text, document, path, None)


def is_bare(text: str, path: Sequence[str]) -> bool:
    """Whether the text holds nothing but the way to the path."""
    return text.strip() in ("", f"[{'.'.join(path[:-1])}]")


def _appended(text: str, path: Sequence[str], value: Any) -> str | None:
    """The text with the table at its end, after an empty line; None where it cannot stand there.

    tomlkit puts it behind its last sibling, and between the next table and the comment above that.
    """
    newline = _newline(text)
    end = newline if text and not text.endswith("\n") else ""
    appended = f"{text}{end}{newline if text else ''}{_table(path, value, newline)}"
    try:
        return appended if read(appended, path) == value else None
    except Malformed:
        return None


def _cut(text: str, path: Sequence[str], value: Any) -> str | None:
    """The text without the table and the empty line that `_appended` put; None where it stands otherwise."""
    newline = _newline(text)
    before, found, after = text.partition(_table(path, value, newline))
    if not found or (before and not before.endswith("\n")):
        return None
    cut = (before.removesuffix(newline) if before.endswith(2 * newline) else before) + after
    try:
        return cut if read(cut, path) is None else None
    except Malformed:
        return None


def _table(path: Sequence[str], value: Any, newline: str) -> str:
    document = tomlkit.document()
    _parent(document, path)[path[-1]] = value
    return tomlkit.dumps(document).replace("\n", newline)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


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


def _update(parent: MutableMapping[str, Any], key: str, value: Any) -> None:
    """Changes what differs alone: the comments and the order of the rest stay."""
    table = parent.get(key)
    if not isinstance(table, MutableMapping) or not isinstance(value, dict):
        _replace(parent, key, value)
        return
    for name in [name for name in table if name not in value]:
        del table[name]
    for name, wanted in value.items():
        if name not in table or table[name] != wanted:
            _update(table, name, wanted)


def _replace(parent: MutableMapping[str, Any], key: str, value: Any) -> None:
    # Inside an inline table it must be one too.
    parent[key] = tomlkit.item(value, parent if isinstance(parent, InlineTable) else None)


def _checked(before: str, document: tomlkit.TOMLDocument, path: Sequence[str], value: Any) -> str:
    """A file of people is not written from a text that reads back otherwise."""
    text = tomlkit.dumps(document)
    if "\r\n" in before and not _LONE.search(before):
        # tomlkit ends each line of its own by LF.
        text = _LONE.sub("\r\n", text)
    if read(text, path) != value:
        raise Malformed(f"{'.'.join(path)} cannot be changed in it")
    return text
