"""The fields of a line of our own export: each as a server of memhub may have written it, or the line is refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import lru_cache
from typing import Any

import orjson

from ops.moving.entries import instant, refuse_labels
from shared import limits
from shared.environment import UUID_PATTERN

# A server writes 50 ids and a reason of 1,000 bytes, six each where all are escaped; an import the path of a file.
DETAILS_BYTES_MAX = 16_384
DETAILS_DEPTH_MAX = 4

_LABELS_REMEMBERED = 4_096
_DETAIL = re.compile("[a-z_]{1,64}", re.ASCII)


def text(value: dict[str, Any], name: str) -> str:
    given = value[name]
    if not isinstance(given, str):
        raise ValueError(f"{name} is no text")
    return given


def text_or_none(value: dict[str, Any], name: str) -> str | None:
    return None if value[name] is None else text(value, name)


def own(value: dict[str, Any], name: str, clean: Callable[[object], object]) -> str | None:
    """A text that `clean` leaves as it is. Raises ValueError, or what `clean` raises."""
    given = text_or_none(value, name)
    return given if given is None else _own(given, name, clean)


def label(value: dict[str, Any], name: str, clean: Callable[[object], object]) -> str | None:
    """The same of one that many have in common."""
    given = text_or_none(value, name)
    return given if given is None else _own_label(given, name, clean)


def client(value: dict[str, Any], name: str) -> str:
    return _own_label(text(value, name), name, limits.client_name)


def conversation(value: dict[str, Any], name: str) -> str | None:
    given = value[name]
    return None if given is None else limits.conversation(given, name)


def content(value: dict[str, Any]) -> str | None:
    given = value["content"]
    return None if given is None else limits.content(given)


def tags(value: dict[str, Any]) -> tuple[str, ...]:
    given = value["tags"]
    if not isinstance(given, list):
        raise ValueError("tags are no list")
    return _own_tags(tuple(given)) if given else ()


def whole(value: dict[str, Any], name: str, *, least: int) -> int:
    """A whole number that its column takes; JSON's true and 1.0 are none."""
    given = value[name]
    if type(given) is not int or not least <= given <= limits.REVISION_MAX:
        raise ValueError(f"{name} is no number from {least}")
    return given


def whole_or_none(value: dict[str, Any], name: str) -> int | None:
    return None if value[name] is None else whole(value, name, least=0)


def time(value: dict[str, Any], name: str) -> datetime:
    told = text(value, name)
    given = datetime.fromisoformat(told)
    if given.tzinfo is None:
        raise ValueError(f"the time {told[:40]} has no offset")
    if not limits.is_storable(given):
        raise ValueError(f"the time {told[:40]} lies before 1970 or after 9999")
    return given


def time_or_none(value: dict[str, Any], name: str) -> datetime | None:
    return None if value[name] is None else time(value, name)


def details(value: dict[str, Any], *, screened: bool) -> str:
    """As JSON. What purge leaves of it holds ids, times and numbers alone, so these must be such."""
    given = value["details"]
    if not isinstance(given, dict):
        raise ValueError("details are no object")
    if not given:
        return "{}"
    written = orjson.dumps(given)
    if len(written) > DETAILS_BYTES_MAX:
        raise ValueError(f"details hold more than {DETAILS_BYTES_MAX:,} bytes")
    said = list(_said(given, DETAILS_DEPTH_MAX))
    for name, is_kept in _KEPT.items():
        if name in given and not is_kept(given[name]):
            raise ValueError(f"{name} of the details is none")
    if screened:
        refuse_labels(details=(told for told in said if not UUID_PATTERN.fullmatch(told)))
    return written.decode()


def _said(value: object, depth: int) -> Iterator[str]:
    """Every text in it but the names."""
    match value:
        case dict() | list() if depth == 0:
            raise ValueError(f"details are nested more than {DETAILS_DEPTH_MAX} deep")
        case dict():
            for name, inner in value.items():
                if not _DETAIL.fullmatch(name):
                    raise ValueError("a name in the details is none that memhub writes")
                yield from _said(inner, depth - 1)
        case list():
            for inner in value:
                yield from _said(inner, depth - 1)
        case str():
            yield limits.text("details", value, DETAILS_BYTES_MAX)
        case _:
            pass


def _is_id(value: object) -> bool:
    return isinstance(value, str) and UUID_PATTERN.fullmatch(value) is not None


def _is_time(value: object) -> bool:
    return isinstance(value, str) and instant(value, "expires_at") is not None


_KEPT: dict[str, Callable[[object], bool]] = {
    "supersedes": lambda value: isinstance(value, list) and all(map(_is_id, value)),
    "superseded_by": _is_id,
    "expires_at": _is_time,
    "revisions": lambda value: type(value) is int,
    "redacted": lambda value: value is True,
}


def _own(given: str, name: str, clean: Callable[[object], object]) -> str:
    if clean(given) != given:
        raise ValueError(f"{name} is not as memhub writes it")
    return given


# Thousands of memories share a few authors, categories and lists of tags. What is refused is not remembered.
_own_label = lru_cache(maxsize=_LABELS_REMEMBERED)(_own)


@lru_cache(maxsize=_LABELS_REMEMBERED)
def _own_tags(given: tuple[str, ...]) -> tuple[str, ...]:
    if limits.tags(given) != given:
        raise ValueError("tags are not as memhub writes them")
    return given
