"""Our own export: a line each for the header, projects, memories with their whole history, and the end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from itertools import pairwise
from typing import Any, BinaryIO, Literal, cast
from uuid import UUID, uuid5

import orjson

from ops.moving.entries import UNREADABLE, refuse_labels, sensitive
from ops.moving.lines import Line, lines
from ops.moving.lives import Alias, Attestation, Event, Item, Life, Place, Problem, Project, Revision, Words
from shared import limits
from shared.domain import AuthorKind, MemoryType, Status
from shared.errors import SensitiveContent
from shared.memories.history import Origin
from shared.screening import refuse_secrets

HEADER = "memhub-export"
VERSION = 1
_LINE = re.compile(rb'"kind"\s*:\s*"(?:memhub-export|project|memory|end)"')
ACKNOWLEDGED = "acknowledged_sensitive"


def line(value: object) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)


def header() -> bytes:
    """The first line of an export."""
    return line({"kind": HEADER, "version": VERSION})


def end(*, projects: int, memories: int) -> bytes:
    """Its last line, without which it was cut."""
    return line({"kind": "end", "projects": projects, "memories": memories})


def is_line(text: bytes) -> bool:
    """Whether a line says that it is one of an export, however broken the rest of it is."""
    return _LINE.search(text) is not None


class Reader:
    """Reads an export; with `target` all memories go to that project, under ids of their own."""

    def __init__(self, *, target: UUID | None, accept_sensitive: bool) -> None:
        self._target = target
        self._accept_sensitive = accept_sensitive
        # Whose memories come nowhere, though a project of that id may be here.
        self._refused: set[UUID] = set()

    def items(self, file: BinaryIO) -> Iterator[Item | None]:
        """None for the lines at its beginning and end."""
        ended, whole = False, True
        last = Place("line 1")
        for line in lines(file):
            last = Place(f"line {line.number}", line.offset)
            item = self.item(line)
            if item == "header" and not whole:
                yield Problem(last, "the export before this line has no closing line: the rest of it is missing")
            ended = item == "end"
            whole = ended or (whole and item != "header")
            yield None if isinstance(item, str) else item
        if not ended:
            yield Problem(last, "the export ends here, without its closing line: the rest of it is missing")

    def item(self, line: Line) -> Item | Literal["header", "end"]:
        place = Place(f"line {line.number}", line.offset)
        if line.text is None:
            return Problem(place, "the line is too long")
        try:
            value = orjson.loads(line.text)
        except orjson.JSONDecodeError:
            return Problem(place, "it is no JSON")
        item = self._read(place, value)
        if isinstance(value, dict) and value.get("kind") == "project":
            self._keep_refused(value.get("id"), refused=isinstance(item, Problem))
        return item

    def _keep_refused(self, given: object, *, refused: bool) -> None:
        with suppress(ValueError):
            (self._refused.add if refused else self._refused.discard)(UUID(str(given)))

    def _read(self, place: Place, value: Any) -> Item | Literal["header", "end"]:
        try:
            return self._item(place, value)
        except SensitiveContent as refused:
            return sensitive(place, refused)
        except UNREADABLE as broken:
            return Problem(place, f"a field is missing or malformed ({type(broken).__name__}: {str(broken)[:80]})")

    def _item(self, place: Place, value: dict[str, Any]) -> Item | Literal["header", "end"]:
        match value["kind"]:
            case "memory":
                return self._life(place, value)
            case "project":
                return _project(place, value)
            case "end":
                return "end"
            case kind if kind != HEADER:
                return Problem(place, "it is neither a project nor a memory")
        if value["version"] != VERSION:
            return Problem(place, f"version {value['version']} of the export is unknown: upgrade memhub")
        return "header"

    def _life(self, place: Place, value: dict[str, Any]) -> Life | Problem:
        project_id = UUID(value["project"])
        if project_id in self._refused and self._target is None:
            return Problem(place, "its project was refused")
        moved = self._target is not None and self._target != project_id
        screened = not self._accept_sensitive and not _acknowledged(value)
        successor = value["superseded_by"]
        revisions = tuple(_revision(revision, screened=screened) for revision in value["revisions"])
        life = Life(
            place=place,
            project_id=self._target or project_id,
            memory_id=self._id(UUID(value["id"]), moved=moved),
            conversation=_text_or_none(value, "conversation"),
            status=Status(value["status"]),
            created_at=_time(value["created_at"]),
            retired_at=_time_or_none(value["retired_at"]),
            retired_by=cast("Literal['client', 'judge'] | None", value["retired_by"]),
            superseded_by=None if successor is None else self._id(UUID(successor), moved=moved),
            revisions=revisions,
            attestations=tuple(map(_attestation, value["attestations"])),
            events=tuple(map(_event, value["events"])),
            keeps=True,
            storied=len(revisions) > 1,
            exact=True,
        )
        _require_order(life)
        return life

    def _id(self, memory_id: UUID, *, moved: bool) -> UUID:
        # Beside the project that it came from, one id would otherwise mean two memories of a tenant.
        return uuid5(self._target, str(memory_id)) if moved and self._target is not None else memory_id


def _require_order(life: Life) -> None:
    """What the operator's role may write past: the schema holds it for servers by looking at one row after another."""
    if [said.revision for said in life.revisions] != list(range(1, len(life.revisions) + 1)) or not life.revisions:
        raise ValueError("its revisions are not numbered from 1")
    if life.created_at != life.revisions[0].valid_from:
        raise ValueError("its first revision is not as old as itself")
    told_of = [said.revision for said in life.attestations] + [event.revision or 0 for event in life.events]
    if max(told_of, default=0) > len(life.revisions):
        raise ValueError("it tells of a revision that it does not have")
    for earlier, later in pairwise(life.revisions):
        if earlier.valid_to is None or earlier.valid_to > later.valid_from:
            raise ValueError(f"its revision {earlier.revision} ends after the next begins")


def _acknowledged(value: dict[str, Any]) -> bool:
    """Somebody said, when it was written, that it only looks like a credential."""
    return any(ACKNOWLEDGED in event["details"] for event in value["events"])


def _project(place: Place, value: dict[str, Any]) -> Project:
    return Project(
        place=place,
        project_id=UUID(value["id"]),
        tenant=_text(value, "tenant"),
        slug=_text(value, "slug"),
        display_name=_text_or_none(value, "display_name"),
        created_at=_time(value["created_at"]),
        aliases=tuple(
            Alias(kind=_text(alias, "kind"), value=_text(alias, "value"), created_at=_time(alias["created_at"]))
            for alias in value["aliases"]
        ),
        events=tuple(_event(event | {"revision": None, "scope_key": ""}) for event in value["events"]),
    )


def _revision(value: dict[str, Any], *, screened: bool) -> Revision:
    content = _text_or_none(value, "content")
    category, source, author = _text_or_none(value, "category"), _text_or_none(value, "source"), _author(value)
    tags = _tags(value["tags"])
    if screened:
        if content is not None:
            refuse_secrets(content)
        refuse_labels(category=(category,), tags=tags, source=(source,), author_client=(author,))
    return Revision(
        revision=_whole(value, "revision", least=1),
        origin=cast("Origin", _text(value, "origin")),
        words=None if content is None else Words.of(content),
        type=MemoryType(value["type"]),
        category=category,
        tags=tags,
        importance=_whole_or_none(value, "importance"),
        expires_at=_time_or_none(value["expires_at"]),
        author_client=author,
        author_conversation=_text_or_none(value, "author_conversation"),
        author_kind=AuthorKind(value["author_kind"]),
        source=source,
        reason=_text_or_none(value, "reason"),
        valid_from=_time(value["valid_from"]),
        valid_to=_time_or_none(value["valid_to"]),
        purged_at=_time_or_none(value["purged_at"]),
    )


def _attestation(value: dict[str, Any]) -> Attestation:
    return Attestation(
        revision=_whole(value, "revision", least=1),
        author_client=_author(value),
        author_conversation=_text_or_none(value, "author_conversation"),
        author_kind=AuthorKind(value["author_kind"]),
        type=MemoryType(value["type"]),
        category=_text_or_none(value, "category"),
        tags=_tags(value["tags"]),
        importance=_whole_or_none(value, "importance"),
        expires_at=_time_or_none(value["expires_at"]),
        source=_text_or_none(value, "source"),
        created_at=_time(value["created_at"]),
    )


def _event(value: dict[str, Any]) -> Event:
    return Event(
        event=_text(value, "event"),
        revision=None if value["revision"] is None else _whole(value, "revision", least=1),
        scope_key=_text(value, "scope_key"),
        client=_text(value, "client"),
        request_id=_text_or_none(value, "request_id"),
        details=orjson.dumps(value["details"]).decode(),
        at=_time(value["at"]),
    )


def _text(value: dict[str, Any], name: str) -> str:
    given = value[name]
    if not isinstance(given, str):
        raise ValueError(f"{name} is no text")
    return given


def _text_or_none(value: dict[str, Any], name: str) -> str | None:
    return None if value[name] is None else _text(value, name)


def _author(value: dict[str, Any]) -> str:
    return _text(value, "author_client")


def _whole(value: dict[str, Any], name: str, *, least: int) -> int:
    """A whole number that its column takes; JSON's true and 1.0 are none."""
    given = value[name]
    if type(given) is not int or not least <= given <= limits.REVISION_MAX:
        raise ValueError(f"{name} is no number from {least}")
    return given


def _whole_or_none(value: dict[str, Any], name: str) -> int | None:
    return None if value[name] is None else _whole(value, name, least=0)


def _tags(value: list[str]) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError("tags are no list")
    if any("\x1f" in tag or not tag for tag in value):
        raise ValueError("a tag is empty or holds a control character")
    return tuple(value)


def _time(value: str) -> datetime:
    given = datetime.fromisoformat(value)
    if given.tzinfo is None:
        raise ValueError(f"the time {value[:40]} has no offset")
    if not limits.is_storable(given):
        raise ValueError(f"the time {value[:40]} lies before 1970 or after 9999")
    return given


def _time_or_none(value: str | None) -> datetime | None:
    return None if value is None else _time(value)
