"""Bounds of the arguments that are text: content, tags, reasons, queries, names and request ids."""

from __future__ import annotations

import re
import unicodedata

from shared.composing import composed
from shared.errors import InvalidArgument

CONTENT_BYTES_MAX = 32_000
CATEGORY_BYTES_MAX = 128
TAGS_MAX = 20
TAG_BYTES_MAX = 64
REASON_BYTES_MAX = 1_000
SOURCE_BYTES_MAX = 1_000
QUERY_BYTES_MAX = 4_000
DISPLAY_NAME_BYTES_MAX = 200
CURSOR_BYTES_MAX = 1_000
CLIENT_NAME_BYTES_MAX = 128
REQUEST_ID_CHARACTERS_MIN = 8
REQUEST_ID_CHARACTERS_MAX = 128

_REQUEST_ID = re.compile(rf"[\x20-\x7e]{{{REQUEST_ID_CHARACTERS_MIN},{REQUEST_ID_CHARACTERS_MAX}}}", re.ASCII)
_SURROGATE = re.compile("[\ud800-\udfff]")
# As Python reads bytes that are no UTF-8.
_UNDECODED = re.compile("[\udc80-\udcff]")
# A mark shows nothing without a letter that it stands on.
_INVISIBLE = ("Cc", "Cf", "Zs", "Zl", "Zp", "Mn", "Mc", "Me")
# Letters and a symbol, by their category, that are drawn as nothing: the fillers of Hangul and the empty Braille cell.
_EMPTY = frozenset("\u115f\u1160\u2800\u3164\uffa0")


def content(value: object) -> str:
    """The content exactly as given: 1 to 32,000 bytes of UTF-8 with something visible in it."""
    given = text("content", value, CONTENT_BYTES_MAX, shorten="Shorten it, or store it as several memories.")
    if is_blank(given):
        raise InvalidArgument(
            "content",
            f"holds nothing visible; 1 to {CONTENT_BYTES_MAX} bytes of text are needed",
            next="Say what is to be remembered.",
        )
    return given


def category(value: object) -> str | None:
    return _optional_line("category", value, CATEGORY_BYTES_MAX)


def display_name(value: object) -> str | None:
    return _optional_line("display_name", value, DISPLAY_NAME_BYTES_MAX)


def reason(value: object, argument: str = "reason") -> str | None:
    """None when left out or blank; `argument` is `change_reason` for a revise."""
    return _optional_text(argument, value, REASON_BYTES_MAX)


def source(value: object) -> str | None:
    return _optional_text("source", value, SOURCE_BYTES_MAX)


def query(value: object) -> str | None:
    """None when left out or blank: that is browsing."""
    return _optional_text("query", value, QUERY_BYTES_MAX)


def cursor(value: object) -> str | None:
    return _optional_text("cursor", value, CURSOR_BYTES_MAX)


def tags(value: object) -> tuple[str, ...] | None:
    """NFC, trimmed, in the order given without duplicates; None when left out, () when the list is empty."""
    if value is None:
        return None
    if not isinstance(value, list | tuple):
        raise InvalidArgument("tags", "must be a list of strings", next='Write it as ["first", "second"].')
    distinct = tuple(dict.fromkeys(_tag(f"tags[{place}]", tag) for place, tag in enumerate(value)))
    if len(distinct) > TAGS_MAX:
        raise InvalidArgument(
            "tags",
            f"holds {len(distinct)} tags, at most {TAGS_MAX} are allowed",
            next="Keep the most telling.",
        )
    return distinct


def client_request_id(value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not _REQUEST_ID.fullmatch(value):
        raise InvalidArgument(
            "client_request_id",
            f"must be {REQUEST_ID_CHARACTERS_MIN} to {REQUEST_ID_CHARACTERS_MAX} printable ASCII characters",
            next="Use a fresh UUID for each new request, and the same one when it is sent again.",
        )
    return value


def client_name(value: object) -> str:
    """The name that a client gives itself, cut rather than refused; `unknown` when there is nothing in it."""
    if not isinstance(value, str):
        return "unknown"
    visible = "".join(" " if unicodedata.category(c) in ("Cc", "Cs") else c for c in value[:1_000])
    cut = " ".join(visible.split()).encode()[:CLIENT_NAME_BYTES_MAX].decode(errors="ignore").strip()
    return cut if not is_blank(cut) else "unknown"


def text(argument: str, value: object, bytes_max: int, *, shorten: str = "Shorten it.") -> str:
    """The text as given, if PostgreSQL can store it and it is within its bound."""
    if not isinstance(value, str):
        raise InvalidArgument(argument, "must be a string", next="Send it as a JSON string.")
    if "\0" in value:
        raise InvalidArgument(argument, "holds a NUL character", next="Remove it: NUL cannot be stored.")
    if value.isascii():
        size = len(value)
    elif found := _SURROGATE.search(value):
        or_bytes = ", or bytes that are not UTF-8" if _UNDECODED.match(found[0]) else ""
        raise InvalidArgument(
            argument, f"holds a lone surrogate{or_bytes}", next="Send well-formed Unicode: surrogates only in pairs."
        )
    else:
        size = len(value.encode())
    if size > bytes_max:
        raise InvalidArgument(argument, f"holds {size} bytes of UTF-8, at most {bytes_max} are allowed", next=shorten)
    return value


def line(argument: str, value: object, bytes_max: int) -> str:
    """One line in NFC, trimmed, its white space collapsed; empty when nothing visible was given."""
    given = composed("NFC", " ".join(text(argument, value, _GIVEN_BYTES_MAX).split()))
    if not given.isprintable() and any(unicodedata.category(character) == "Cc" for character in given):
        raise InvalidArgument(argument, "holds a control character", next="Remove it.")
    return "" if is_blank(given) else text(argument, given, bytes_max)


def is_blank(given: str) -> bool:
    return all(character in _EMPTY or unicodedata.category(character) in _INVISIBLE for character in given)


# What is given before trimming needs a bound of its own, so that no megabyte of blanks is normalised.
_GIVEN_BYTES_MAX = 4_000


def _tag(argument: str, value: object) -> str:
    tag = line(argument, value, TAG_BYTES_MAX)
    if not tag:
        raise InvalidArgument(
            argument, f"is empty; a tag has 1 to {TAG_BYTES_MAX} bytes", next="Leave the empty tag out."
        )
    return tag


def _optional_line(argument: str, value: object, bytes_max: int) -> str | None:
    return None if value is None else line(argument, value, bytes_max) or None


def _optional_text(argument: str, value: object, bytes_max: int) -> str | None:
    if value is None:
        return None
    given = text(argument, value, bytes_max)
    return None if is_blank(given) else given
