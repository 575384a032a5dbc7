"""What is imported, opened: its items one after another, whatever form they have."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from ops.files import is_regular, naming, reading, refused
from ops.moving import detection, documents, sqlite_files
from ops.moving.detection import Format
from ops.moving.entries import UNREADABLE, Context, Entry, life, unreadable
from ops.moving.formats import generic, markdown, mcp_memory, mcp_memory_service, mem0, memory_mcp, ours, server_memory
from ops.moving.lines import Line, at, lines
from ops.moving.lives import Item, Place, Problem

MARKDOWN_BYTES_MAX = 16 * 2**20
FILES_MAX = 100_000

Record = tuple[Place, Any]
Parse = Callable[[Place, Any], list[Entry | Problem]]

# Other people's texts, not what this folder's people wrote down.
_FOREIGN = frozenset({".git", "node_modules", ".venv", "venv", "__pycache__"})

_PARSERS: dict[Format, Parse] = {
    Format.JSONL: generic.entries,
    Format.SERVER_MEMORY: server_memory.entries,
    Format.MCP_MEMORY_SERVICE: mcp_memory_service.entries,
    Format.MCP_MEMORY: mcp_memory.entries,
    Format.MEMORY_MCP: memory_mcp.entries,
    Format.MEM0: mem0.entries,
}
# To whom or what a record belongs there, which one project here may not mix; None where it does not tell.
_ORIGINS: dict[Format, Callable[[Any], str | None]] = {
    Format.MCP_MEMORY: mcp_memory.origin,
    Format.MEMORY_MCP: memory_mcp.origin,
}
PARTED = frozenset(_ORIGINS)

_TABLES: dict[Format, tuple[str, Callable[[sqlite3.Connection], Iterator[Record]]]] = {
    Format.MCP_MEMORY_SERVICE: ("memories", mcp_memory_service.rows),
    Format.MEM0: ("history", mem0.rows),
}


class Source:
    """One file or folder; `read_bytes` of `size_bytes` have been read so far."""

    def __init__(
        self,
        path: Path,
        format: Format,
        context: Context,
        *,
        moved: bool,
        origin: str | None = None,
        is_lines: bool | None = None,
    ) -> None:
        """`moved` says that our own export goes to the context's project and not to those that it names; of a form in
        PARTED only what belongs to `origin` there is read. `is_lines` None: it is told from the first line."""
        self.path = path
        self.format = format
        self.read_bytes = 0
        self._context = context
        self._origin = origin
        self._lines = is_lines
        self._ours = ours.Reader(
            target=context.project_id if moved else None, accept_sensitive=context.accept_sensitive
        )
        with naming(path):
            self._files, self._passed, self._left = _files(path) if format is Format.MARKDOWN else ([path], [], False)
            self.size_bytes = sum(file.stat().st_size for file in self._files)

    def items(self) -> Iterator[Item | None]:
        """Everything in it, and None for a record that gives nothing: of those too a caller may not read thousands
        without a turn of its loop. Raises FileRefused."""
        match self.format:
            case Format.MARKDOWN:
                yield from self._markdown()
            case Format.MEMHUB:
                with naming(self.path), self.path.open("rb") as file:
                    yield from self._tracked(file, self._ours.items(file))
            case _:
                yield from self._records()

    def again(self, places: Sequence[Place]) -> Iterator[Item | None]:
        """The memories of these places once more, in that order. None as in `items`, and for what was told then."""
        if self._is_lines():
            for item in self._lines_again(places):
                # Of our own a line is one item: what is a problem now was none.
                yield None if isinstance(item, Problem) and self.format is not Format.MEMHUB else item
            return
        wanted: dict[str, list[Item]] = {place.told: [] for place in places}
        for item in self.items():
            if item is not None and not isinstance(item, Problem) and item.place.told in wanted:
                wanted[item.place.told].append(item)
            yield None
        yield from chain.from_iterable(wanted.values())

    def _lines_again(self, places: Sequence[Place]) -> Iterator[Item | None]:
        numbered = ((int(place.told.removeprefix("line ")), place.offset) for place in places)
        with naming(self.path), self.path.open("rb") as file:
            for line in at(file, numbered):
                if self.format is Format.MEMHUB:
                    item = self._ours.item(line)
                    yield None if isinstance(item, str) else item
                else:
                    yield from self._lives([_of_line(line)])

    def _is_lines(self) -> bool:
        if self.format is Format.MEMHUB or self._lines:
            return True
        return self.path.is_file() and not detection.is_sqlite(self.path) and detection.is_lines(self.path)

    def _markdown(self) -> Iterator[Item | None]:
        is_folder = self.path.is_dir()
        if self._left:
            yield Problem(Place(self.path.name), f"it has more than {FILES_MAX:,} files; the rest was not read")
        yield from self._passed
        for file in self._files:
            name = str(file.relative_to(self.path)) if is_folder else file.name
            try:
                with reading(file, follow=not is_folder) as opened:
                    text = opened.read(MARKDOWN_BYTES_MAX + 1)
            except OSError as failure:
                if not is_folder:
                    raise refused(file, failure) from None
                yield _unread(name, failure)
                continue
            if len(text) > MARKDOWN_BYTES_MAX:
                yield Problem(Place(name), f"it is larger than {MARKDOWN_BYTES_MAX} bytes")
                continue
            self.read_bytes += len(text)
            try:
                yield from self._made(markdown.entries(name, text.decode("utf-8-sig")))
            except UnicodeDecodeError:
                yield Problem(Place(name), "it is not UTF-8")

    def _records(self) -> Iterator[Item | None]:
        with naming(self.path):
            if self.format in _TABLES and detection.is_sqlite(self.path):
                yield from self._lives(_of_table(self.path, self.format))
                return
            with self.path.open("rb") as file:
                yield from self._tracked(file, self._lives(_records(file, self.path, is_lines=self._lines)))

    def _lives(self, records: Iterable[Record | Problem | None]) -> Iterator[Item | None]:
        """Of a record that belongs to another than `origin` there nothing is read, nor told that it cannot be."""
        for record in records:
            if record is None or isinstance(record, Problem):
                yield record
            elif self._origin is not None and _origin(self.format, record) not in (self._origin, None):
                yield None
            else:
                yield from self._made(_parsed(self.format, record))

    def _made(self, entries: Sequence[Entry | Problem]) -> Iterator[Item | None]:
        if not entries:
            yield None
        for entry in entries:
            yield entry if isinstance(entry, Problem) else life(entry, self._context)

    def _tracked(self, file: BinaryIO, items: Iterator[Item | None]) -> Iterator[Item | None]:
        for item in items:
            self.read_bytes = file.tell()
            yield item


def origins(path: Path, format: Format, *, is_lines: bool | None = None) -> Iterator[str | None]:
    """To whom or what the memories of a form in PARTED belong there, each of those once, and None for every other
    record, as of `Source.items`. Raises FileRefused."""
    found: set[str] = set()
    with naming(path), path.open("rb") as file:
        for record in _records(file, path, is_lines=is_lines):
            origin = _new_origin(format, record, found)
            if origin is not None:
                found.add(origin)
            yield origin


def _new_origin(format: Format, record: Record | Problem, known: set[str]) -> str | None:
    if isinstance(record, Problem):
        return None
    origin = _origin(format, record)
    if origin is None or origin in known:
        return None
    return origin if any(isinstance(told, Entry) for told in _parsed(format, record)) else None


def _origin(format: Format, record: Record) -> str | None:
    _, value = record
    return _ORIGINS[format](value)


def _parsed(format: Format, record: Record) -> list[Entry | Problem]:
    """A parser that stumbles over a record loses that record alone."""
    place, value = record
    try:
        return _PARSERS[format](place, value)
    except UNREADABLE as broken:
        return [unreadable(place, broken)]


def _records(file: BinaryIO, path: Path, *, is_lines: bool | None) -> Iterator[Record | Problem]:
    """`is_lines` None: it is told from the first line."""
    lined = detection.is_lines(path) if is_lines is None else is_lines
    return map(_of_line, lines(file)) if lined else _of_document(file)


def _of_line(line: Line) -> Record | Problem:
    place = Place(f"line {line.number}", line.offset)
    if line.text is None:
        return Problem(place, "the line is too long")
    try:
        return place, orjson.loads(line.text)
    except orjson.JSONDecodeError:
        return Problem(place, "it is no JSON")


def _of_document(file: BinaryIO) -> Iterator[Record | Problem]:
    try:
        for element in documents.elements(file):
            yield Place(f"{element.collection or 'element'} {element.number}"), element.value
    except documents.BrokenDocument as broken:
        yield Problem(Place(str(broken)), "what follows was not read")


def _of_table(path: Path, format: Format) -> Iterator[Record | Problem | None]:
    try:
        yield from sqlite_files.rows(path, *_TABLES[format], told=path.name)
    except sqlite3.Error as broken:
        yield Problem(Place(path.name), f"SQLite cannot read it: {broken}")


def _files(path: Path) -> tuple[list[Path], list[Problem], bool]:
    """What is read, what is passed over or cannot be looked at, and whether there is more than FILES_MAX of both.

    A link in a folder of somebody else may name any file of this user.
    """
    if not path.is_dir():
        return [path], [], False
    found: list[Path] = []
    passed: list[Problem] = []
    for folder, folders, names in os.walk(path, onerror=lambda failure: passed.append(_closed(path, failure))):
        folders[:] = sorted(name for name in folders if name not in _FOREIGN)
        of_interest = {Path(folder, name): name in folders for name in (*folders, *filter(_is_markdown, names))}
        for file in sorted(of_interest):
            seen = _seen(path, file, is_folder=of_interest[file])
            if seen is None:
                continue
            if len(found) + len(passed) >= FILES_MAX:
                return found, passed, True
            if isinstance(seen, Problem):
                passed.append(seen)
            else:
                found.append(seen)
    return found, passed, False


def _seen(path: Path, file: Path, *, is_folder: bool) -> Path | Problem | None:
    """None for a folder, which is walked, or told where it cannot be."""
    name = str(file.relative_to(path))
    try:
        if is_folder and not file.is_symlink():
            return None
        if not is_folder and is_regular(file, follow=False):
            return file
    except OSError as failure:
        return None if is_folder else _unread(name, failure)
    return Problem(Place(name), "it is a link or no file, and was not read", "note")


def _closed(path: Path, failure: OSError) -> Problem:
    """Raises the failure where it is that of the folder itself."""
    folder = Path(failure.filename)
    if folder == path:
        raise failure
    return _unread(str(folder.relative_to(path)), failure)


def _unread(name: str, failure: OSError) -> Problem:
    told = refused(Path(name), failure).message
    return Problem(Place(name), told.removeprefix(f"{Path(name)}: ").removesuffix("."))


def _is_markdown(name: str) -> bool:
    return name in markdown.NAMES or Path(name).suffix.lower() in markdown.SUFFIXES
