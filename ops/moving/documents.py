"""JSON documents read element by element, so that an array of any length takes the memory of one element."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

CHUNK_BYTES = 2**20
ELEMENT_CHARACTERS_MAX = 16 * 2**20

# Where known exports keep their memories; `data` wraps another document.
COLLECTIONS = frozenset({"memories", "results", "records", "entities", "relations", "vectors"})
_WRAPPER = "data"
# What a listing of S3 Vectors names where it stops: its service nextToken, its command NextToken.
_MORE = "nexttoken"

_DECODER = json.JSONDecoder()
_BLANKS = " \t\r\n\ufeff"


class BrokenDocument(ValueError):
    """The document is no JSON from here on."""


@dataclass(frozen=True, slots=True)
class Element:
    """An element of the array under `collection` (empty: the document is the array); `number` counts from 1."""

    collection: str
    number: int
    value: Any


def elements(file: BinaryIO) -> Iterator[Element]:
    """The elements of the document's array, or of the arrays under its known keys. Raises BrokenDocument."""
    reader = _Reader(file)
    if reader.peek() == "[":
        yield from _array(reader, "")
    else:
        yield from _object(reader)


def _object(reader: _Reader) -> Iterator[Element]:
    reader.expect("{")
    if reader.accept("}"):
        return
    goes_on = False
    while True:
        key = reader.value()
        goes_on = goes_on or str(key).lower() == _MORE
        reader.expect(":")
        opening = reader.peek()
        if key in COLLECTIONS and opening == "[":
            yield from _array(reader, str(key))
        elif key == _WRAPPER and opening == "{":
            yield from _object(reader)
        elif key == _WRAPPER and opening == "[":
            yield from _array(reader, _WRAPPER)
        else:
            reader.value()
        if not reader.accept(","):
            reader.expect("}")
            break
    if goes_on:
        raise BrokenDocument("its end: it is one page of a listing that goes on, to be listed whole")


def _array(reader: _Reader, collection: str) -> Iterator[Element]:
    reader.expect("[")
    if reader.accept("]"):
        return
    number = 0
    while True:
        number += 1
        yield Element(collection, number, reader.value())
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
            raise self._broken(f"'{character}' is missing")

    def value(self) -> Any:
        self.peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as incomplete:
                if not self._more():
                    raise self._broken(incomplete.msg) from None
                continue
            except ValueError:
                raise self._broken("a number has more digits than can be read") from None
            except RecursionError:
                raise self._broken("it is nested too deeply") from None
            size = end - self._at
            # A number at the end of the window may go on.
            if end < len(self._text) or not self._more():
                self._at += size
                return value

    def _more(self) -> bool:
        if self._ended:
            return False
        if len(self._text) - self._at > ELEMENT_CHARACTERS_MAX:
            raise self._broken(f"an element is longer than {ELEMENT_CHARACTERS_MAX} characters")
        chunk = self._file.read(CHUNK_BYTES)
        self._ended = not chunk
        try:
            decoded = self._decode.decode(chunk, final=self._ended)
        except UnicodeDecodeError:
            raise self._broken("it is not UTF-8") from None
        self._passed += self._at
        self._text = self._text[self._at :] + decoded
        self._at = 0
        return not self._ended or bool(decoded)

    def _broken(self, problem: str) -> BrokenDocument:
        return BrokenDocument(f"character {self._passed + self._at}: {problem}")
