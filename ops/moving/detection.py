"""Which form a file or folder has, told from its first bytes."""

from __future__ import annotations

import json
import sqlite3
from enum import StrEnum
from pathlib import Path
from typing import Any

from ops.files import FileRefused, naming
from ops.moving import documents, sqlite_files
from ops.moving.formats import markdown, ours

HEAD_BYTES = 2**20
LINES_LOOKED_AT = 20


class Format(StrEnum):
    """What `memhub import --format` takes, besides `auto`."""

    MEMHUB = "memhub"
    JSONL = "jsonl"
    SERVER_MEMORY = "server-memory"
    MARKDOWN = "markdown"
    MCP_MEMORY_SERVICE = "mcp-memory-service"
    MCP_MEMORY = "mcp-memory"
    MEMORY_MCP = "memory-mcp"
    MEM0 = "mem0"


def detect(path: Path, *, told: str | None = None) -> Format:
    """The form; `told` is what people know the file by, when not its path. Raises FileRefused for what has none."""
    told = told or str(path)
    with naming(path):
        if path.is_file() and path.stat().st_size == 0:
            raise FileRefused(f"{told}: it is empty.", next="Name the file that holds the memories.")
        if path.is_file() and is_backup(path):
            raise FileRefused(f"{told}: it is a backup.", next=f"Bring it back with `memhub restore {told}`.")
        if path.is_dir() or path.suffix.lower() in markdown.SUFFIXES or path.name in markdown.NAMES:
            return Format.MARKDOWN
        if is_sqlite(path):
            return _of_database(path, told)
        found = _of_value(*_first(path))
    if found is None:
        raise FileRefused(
            f"{told}: none of the known forms was recognised in it.",
            next=f"Name it with --format: {', '.join(Format)}.",
        )
    return found


def require_ours(path: Path, *, told: str) -> None:
    """Raises FileRefused for what is no export of memhub, saying what it looks like, instead of line by line."""
    with naming(path):
        if path.is_file() and any(map(ours.is_line, _lines(path))):
            return
    try:
        looks = detect(path, told=told)
    except FileRefused:
        raise FileRefused(
            f'{told}: it is no export of memhub: none of its lines has a "kind" of one.',
            next="Leave --format out to have its form told.",
        ) from None
    raise FileRefused(
        f"{told}: it is no export of memhub; it looks like {looks}.", next=f"Give --format {looks}, or none."
    )


def _lines(path: Path) -> list[bytes]:
    with path.open("rb") as file:
        return file.read(HEAD_BYTES).removeprefix(b"\xef\xbb\xbf").split(b"\n", LINES_LOOKED_AT)[:LINES_LOOKED_AT]


def is_backup(path: Path) -> bool:
    """What `memhub backup` writes, and pg_dump."""
    with path.open("rb") as file:
        return file.read(5) == b"PGDMP"


def is_sqlite(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(16) == b"SQLite format 3\0"


def is_lines(path: Path) -> bool:
    """True for JSON Lines, false for documents: a first line that is an object and wraps no others. Where it is broken
    or very long, and no document begins with it either, a line after it tells."""
    return _first_record(path) is not None


def _of_database(path: Path, told: str) -> Format:
    try:
        with sqlite_files.database(path, told=told) as opened:
            tables = sqlite_files.tables(opened)
    except sqlite3.Error as broken:
        raise FileRefused(f"{told}: SQLite cannot read it: {broken}.", next="Is it whole?") from None
    if "memories" in tables:
        return Format.MCP_MEMORY_SERVICE
    if "history" in tables:
        return Format.MEM0
    raise FileRefused(
        f"{told}: it is a SQLite file without a table memories or history.",
        next="Write its memories as JSON Lines; a view of them is not read.",
    )


def _first(path: Path) -> tuple[str, Any]:
    """The first thing that a memory is made of, and the collection that it stands in."""
    record = _first_record(path)
    if record is not None:
        return "", record
    element = _first_element(path)
    return ("", None) if element is None else (element.collection, element.value)


def _first_record(path: Path) -> dict[str, Any] | None:
    """The first line of JSON Lines that can be read; None for a document."""
    with path.open("rb") as file:
        start = file.read(HEAD_BYTES)
        goes_on = bool(file.read(1))
    head = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    first, *others = head.split(b"\n", LINES_LOOKED_AT)[:LINES_LOOKED_AT]
    line = _record(first)
    if line is not None:
        return None if _wraps(line) else line
    if first.startswith(b"["):
        return None
    element = _first_element(path)
    if element is not None:
        # A document has its first line's end near its beginning, or is short.
        is_long = goes_on and len(first) == len(head) and not element.collection
        return element.value if is_long and isinstance(element.value, dict) else None
    return next((record for record in map(_record, others) if record is not None), None)


def _first_element(path: Path) -> documents.Element | None:
    with path.open("rb") as file:
        try:
            return next(documents.elements(file), None)
        except documents.BrokenDocument:
            return None


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _wraps(line: dict[str, Any]) -> bool:
    if documents.says(line):
        return False
    inner = line.get("data")
    if isinstance(inner, list) or (isinstance(inner, dict) and _wraps(inner)):
        return True
    return any(isinstance(line.get(name), list) for name in documents.COLLECTIONS)


def _of_value(collection: str, value: Any) -> Format | None:
    found: Format | None = None
    match value:
        case {"kind": ours.HEADER}:
            found = Format.MEMHUB
        case {"entityType": _} | {"relationType": _}:
            found = Format.SERVER_MEMORY
        case {"tenant_id": _, "id": _, "content": _} | {"tenant_id": _, "id": _, "metadata": _}:
            found = Format.MCP_MEMORY
        case {"key": _, "metadata": {"tenantId": _}}:
            found = Format.MCP_MEMORY
        case {"content_hash": _, "content": _}:
            found = Format.MCP_MEMORY_SERVICE
        case {"memory": _} | {"source_payload": _} | {"payload": {"data": _}}:
            found = Format.MEM0
        case {"category": _, "content": _, "metadata": _} | {"category_path": _, "content": _}:
            found = Format.MEMORY_MCP
        case {"environment": _, "kind": _, "body": _}:
            found = Format.MEMORY_MCP
        case {"content": _} if not collection:
            found = Format.JSONL
    return found
