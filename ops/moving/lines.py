"""Files read line by line, however long a line is: one beyond the bound is passed over, not held."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

LINE_BYTES_MAX = 64 * 2**20

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Line:
    """`text` is None when the line was longer than LINE_BYTES_MAX; `number` counts from 1."""

    number: int
    offset: int
    text: bytes | None


def lines(file: BinaryIO) -> Iterator[Line]:
    """Every line that holds anything."""
    number = offset = 0
    while text := file.readline(LINE_BYTES_MAX):
        number += 1
        size = len(text)
        whole = text.endswith(b"\n") or size < LINE_BYTES_MAX
        if not whole:
            size += _pass_over(file)
        if number == 1:
            text = text.removeprefix(_BYTE_ORDER_MARK)
        if not whole or text.strip():
            yield Line(number, offset, text if whole else None)
        offset += size


def at(file: BinaryIO, offsets: Iterable[tuple[int, int]]) -> Iterator[Line]:
    """The lines of these numbers and offsets again, in the order asked."""
    for number, offset in offsets:
        file.seek(offset)
        yield Line(number, offset, file.readline(LINE_BYTES_MAX).removeprefix(_BYTE_ORDER_MARK))


def _pass_over(file: BinaryIO) -> int:
    passed = 0
    while more := file.readline(LINE_BYTES_MAX):
        passed += len(more)
        if more.endswith(b"\n"):
            break
    return passed
