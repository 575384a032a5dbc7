"""JSON documents read element by element, so that an array of any length takes the memory of one element."""

from __future__ import annotations

import codecs
import json
from collections import Counter
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

CHUNK_BYTES = 2**20
ELEMENT_CHARACTERS_MAX = 16 * 2**20

# Where known exports keep their memories; `data` wraps another document.
COLLECTIONS = frozenset({"memories", "results", "records", "entities", "relations", "vectors"})
_WRAPPER = "data"
_WRAPPERS_MAX = 4
_CONTENTS = frozenset({"content", "memory"})
# What a listing of S3 Vectors names where it stops: its service nextToken, its command NextToken.
_MORE = "nexttoken"

_DECODER = json.JSONDecoder()
_BLANKS = " \t\r\n\ufeff"


class BrokenDocument(ValueError):
    """The document is no JSON from here on."""


@dataclass(frozen=True, slots=True)
class Element:
    """An element of an array under `collection` (empty: under none), or an object that holds no such array; `number`
    counts those of a collection from 1, over all documents of the file."""

    collection: str
    number: int
    value: Any


def elements(file: BinaryIO) -> Iterator[Element]:
    """The elements of every document in the file, one document after another: those of an array, or of the arrays under
    an object's known keys; an object without any, or with a content, is one itself. Raises BrokenDocument."""
    reader = _Reader(file)
    counted: Counter[str] = Counter()
    while True:
        if reader.peek() == "[":
            yield from _array(reader, "", counted)
        else:
            holds, said = yield from _object(reader, counted)
            if not holds:
                yield _element("", said, counted)
        if not reader.peek():
            return


def says(value: dict[str, Any]) -> bool:
    """Whether an object is a record, whatever arrays it has beside its content."""
    return not _CONTENTS.isdisjoint(value)


def _element(collection: str, value: Any, counted: Counter[str]) -> Element:
    counted[collection] += 1
    return Element(collection, counted[collection], value)


def _object(
    reader: _Reader, counted: Counter[str], depth: int = 0
) -> Generator[Element, None, tuple[bool, dict[str, Any]]]:
    """Whether it holds a collection, and what else it says."""
    reader.expect("{")
    said: dict[str, Any] = {}
    holds = goes_on = False
    characters = 0
    more = not reader.accept("}")
    while more:
        key = reader.key()
        goes_on = goes_on or key.lower() == _MORE
        opening = reader.peek()
        if opening == "[" and (key in COLLECTIONS or key == _WRAPPER):
            holds = True
            yield from _array(reader, key, counted)
        elif opening == "{" and key == _WRAPPER and depth < _WRAPPERS_MAX:
            inner, said[key] = yield from _object(reader, counted, depth + 1)
            holds = holds or inner
        else:
            begun = reader.position
            value = reader.value()
            characters += reader.position - begun
            # What stands around a collection is not needed, however long it is.
            if characters <= ELEMENT_CHARACTERS_MAX:
                said[key] = value
        more = reader.accept(",")
        if not more:
            reader.expect("}")
    if characters > ELEMENT_CHARACTERS_MAX and not holds:
        raise reader.broken(f"an element is longer than {ELEMENT_CHARACTERS_MAX} characters")
    if holds and says(said):
        yield _element("", said, counted)
    if goes_on:
        raise BrokenDocument("its end: it is one page of a listing that goes on, to be listed whole")
    return holds, said


def _array(reader: _Reader, collection: str, counted: Counter[str]) -> Iterator[Element]:
    reader.expect("[")
    if reader.accept("]"):
        return
    while True:
        yield _element(collection, reader.value(), counted)
        if not reader.accept(","):
            reader.expect("]")
            return


class _Reader:
    """A window of text that moves over the file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._decode = codecs.getincrementaldecoder("utf-8")()
        self._text = ""
        self._at = 0
        self._passed = 0
        self._ended = False

    @property
    def position(self) -> int:
        return self._passed + self._at

    def peek(self) -> str:
        while True:
            while self._at < len(self._text):
                if self._text[self._at] not in _BLANKS:
                    return self._text[self._at]
                self._at += 1
            if not self._more():
                return ""

    def accept(self, character: str) -> bool:
        if self.peek() != character:
            return False
        self._at += 1
        return True

    def expect(self, character: str) -> None:
        if not self.accept(character):
            raise self.broken(f"'{character}' is missing")

    def key(self) -> str:
        if self.peek() != '"':
            raise self.broken("a name is missing")
        key = self.value()
        self.expect(":")
        return str(key)

    def value(self) -> Any:
        self.peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as incomplete:
                if not self._more():
                    raise self.broken(incomplete.msg) from None
                continue
            except ValueError:
                raise self.broken("a number has more digits than can be read") from None
            except RecursionError:
                raise self.broken("it is nested too deeply") from None
            size = end - self._at
            # A number at the end of the window may go on.
            if end < len(self._text) or not self._more():
                self._at += size
                return value

    def _more(self) -> bool:
        if self._ended:
            return False
        if len(self._text) - self._at > ELEMENT_CHARACTERS_MAX:
            raise self.broken(f"an element is longer than {ELEMENT_CHARACTERS_MAX} characters")
        chunk = self._file.read(CHUNK_BYTES)
        self._ended = not chunk
        try:
            decoded = self._decode.decode(chunk, final=self._ended)
        except UnicodeDecodeError:
            raise self.broken("it is not UTF-8") from None
        self._passed += self._at
        self._text = self._text[self._at :] + decoded
        self._at = 0
        return not self._ended or bool(decoded)

    def broken(self, problem: str) -> BrokenDocument:
        return BrokenDocument(f"character {self.position}: {problem}")
