"""Our own export: a line each for the header, projects, memories with their whole history, and the end."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise
from typing import Any, BinaryIO, Literal, cast
from uuid import UUID, uuid5

import orjson

from ops.moving.lines import Line, lines
from ops.moving.lives import Alias, Attestation, Event, Item, Life, Place, Problem, Project, Revision, Words
from shared.domain import AuthorKind, MemoryType, Status
from shared.errors import SensitiveContent
from shared.screening import refuse_secrets

HEADER = "memhub-export"
VERSION = 1
ACKNOWLEDGED = "acknowledged_sensitive"


class Reader:
    """Reads an export; with `target` all memories go to that project, under ids of their own."""

    def __init__(self, *, target: UUID | None, accept_sensitive: bool) -> None:
        self._target = target
        self._accept_sensitive = accept_sensitive

    def items(self, file: BinaryIO) -> Iterator[Item]:
        ended = False
        last = Place("line 1")
        for line in lines(file):
            last = Place(f"line {line.number}", line.offset)
            item = self.item(line)
            ended = item == "end"
            if not isinstance(item, str):
                yield item
        if not ended:
            yield Problem(last, "the export ends here, without its closing line: the rest of it is missing")

    def item(self, line: Line) -> Item | Literal["header", "end"]:
        place = Place(f"line {line.number}", line.offset)
        if line.text is None:
            return Problem(place, "the line is too long")
        try:
            return self._item(place, orjson.loads(line.text))
        except SensitiveContent as refused:
            return Problem(place, refused.message, "sensitive")
        except orjson.JSONDecodeError:
            return Problem(place, "it is no JSON")
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as broken:
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

    def _life(self, place: Place, value: dict[str, Any]) -> Life:
        project_id = UUID(value["project"])
        moved = self._target is not None and self._target != project_id
        screened = not self._accept_sensitive and not _acknowledged(value)
        successor = value["superseded_by"]
        revisions = tuple(_revision(revision, screened=screened) for revision in value["revisions"])
        life = Life(
            place=place,
            project_id=self._target or project_id,
            memory_id=self._id(UUID(value["id"]), moved=moved),
            conversation=value["conversation"],
            status=Status(value["status"]),
            created_at=_time(value["created_at"]),
            retired_at=_time_or_none(value["retired_at"]),
            retired_by=cast("Literal['client', 'judge'] | None", value["retired_by"]),
            superseded_by=None if successor is None else self._id(UUID(successor), moved=moved),
            revisions=revisions,
            attestations=tuple(map(_attestation, value["attestations"])),
            events=tuple(map(_event, value["events"])),
            keeps=True,
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
    for earlier, later in pairwise(life.revisions):
        if earlier.valid_to is None or earlier.valid_to > later.valid_from:
            raise ValueError(f"its revision {earlier.revision} ends after the next begins")
    if any(event.revision is not None and event.revision > len(life.revisions) for event in life.events):
        raise ValueError("an event is of a revision that it does not have")


def _acknowledged(value: dict[str, Any]) -> bool:
    """Somebody said, when it was written, that it only looks like a credential."""
    return any(ACKNOWLEDGED in event["details"] for event in value["events"])


def _project(place: Place, value: dict[str, Any]) -> Project:
    return Project(
        place=place,
        project_id=UUID(value["id"]),
        tenant=value["tenant"],
        slug=value["slug"],
        display_name=value["display_name"],
        created_at=_time(value["created_at"]),
        aliases=tuple(
            Alias(kind=alias["kind"], value=alias["value"], created_at=_time(alias["created_at"]))
            for alias in value["aliases"]
        ),
        events=tuple(_event(event | {"revision": None, "scope_key": ""}) for event in value["events"]),
    )


def _revision(value: dict[str, Any], *, screened: bool) -> Revision:
    content = value["content"]
    if content is not None and screened:
        refuse_secrets(content)
    return Revision(
        revision=value["revision"],
        origin=value["origin"],
        words=None if content is None else Words.of(content),
        type=MemoryType(value["type"]),
        category=value["category"],
        tags=_tags(value["tags"]),
        importance=value["importance"],
        expires_at=_time_or_none(value["expires_at"]),
        author_client=value["author_client"],
        author_conversation=value["author_conversation"],
        author_kind=AuthorKind(value["author_kind"]),
        source=value["source"],
        reason=value["reason"],
        valid_from=_time(value["valid_from"]),
        valid_to=_time_or_none(value["valid_to"]),
        purged_at=_time_or_none(value["purged_at"]),
    )


def _attestation(value: dict[str, Any]) -> Attestation:
    return Attestation(
        revision=value["revision"],
        author_client=value["author_client"],
        author_conversation=value["author_conversation"],
        author_kind=AuthorKind(value["author_kind"]),
        type=MemoryType(value["type"]),
        category=value["category"],
        tags=_tags(value["tags"]),
        importance=value["importance"],
        expires_at=_time_or_none(value["expires_at"]),
        source=value["source"],
        created_at=_time(value["created_at"]),
    )


def _event(value: dict[str, Any]) -> Event:
    return Event(
        event=value["event"],
        revision=value["revision"],
        scope_key=value["scope_key"],
        client=value["client"],
        request_id=value["request_id"],
        details=orjson.dumps(value["details"]).decode(),
        at=_time(value["at"]),
    )


def _tags(value: list[str]) -> tuple[str, ...]:
    if any("\x1f" in tag or not tag for tag in value):
        raise ValueError("a tag is empty or holds a control character")
    return tuple(value)


def _time(value: str) -> datetime:
    given = datetime.fromisoformat(value)
    if given.tzinfo is None:
        raise ValueError(f"the time {value[:40]} has no offset")
    return given


def _time_or_none(value: str | None) -> datetime | None:
    return None if value is None else _time(value)
