"""Our own export: a line each for the header, projects, memories with their whole history, and the end."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from typing import Any, BinaryIO, Literal, TypeVar, cast
from uuid import UUID, uuid5

import orjson

from ops.moving.declared import Declared
from ops.moving.entries import UNREADABLE, refuse_labels, sensitive
from ops.moving.formats import fields
from ops.moving.lines import Line, lines
from ops.moving.lives import Alias, Attestation, Event, Item, Life, Place, Problem, Project, Revision, Words
from shared import limits
from shared.domain import AuthorKind, MemoryType, Status
from shared.errors import InvalidArgument, SensitiveContent
from shared.memories.history import Origin
from shared.screening import refuse_secrets

HEADER = "memhub-export"
VERSION = 1
_LINE = re.compile(rb'"kind"\s*:\s*"(?:memhub-export|project|memory|end)"')
ACKNOWLEDGED = "acknowledged_sensitive"
_REFUSED = (SensitiveContent, InvalidArgument, *UNREADABLE)
_Read = TypeVar("_Read")


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
        self._refused: Declared[bool] = Declared()

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
            with suppress(ValueError):
                self._refused.tell(UUID(str(value.get("id"))), place, isinstance(item, Problem))
        return item

    def _read(self, place: Place, value: Any) -> Item | Literal["header", "end"]:
        try:
            return self._item(place, value)
        except _REFUSED as refused:
            return _problem(place, refused)

    def _item(self, place: Place, value: dict[str, Any]) -> Item | Literal["header", "end"]:
        match value["kind"]:
            case "memory":
                return self._life(place, value)
            case "project":
                return _project(place, value, screened=not self._accept_sensitive)
            case "end":
                return "end"
            case kind if kind != HEADER:
                return Problem(place, "it is neither a project nor a memory")
        if value["version"] != VERSION:
            return Problem(place, f"version {value['version']} of the export is unknown: upgrade memhub")
        return "header"

    def _life(self, place: Place, value: dict[str, Any]) -> Life | Problem:
        project_id = UUID(value["project"])
        if self._target is None and self._refused.at(project_id, place):
            return Problem(place, "its project was refused")
        moved = self._target is not None and self._target != project_id
        screened = not self._accept_sensitive and not _acknowledged(value)
        successor = value["superseded_by"]
        revisions = tuple(_revision(revision, screened=screened) for revision in _several(value, "revisions"))
        life = Life(
            place=place,
            project_id=self._target or project_id,
            memory_id=self._id(UUID(value["id"]), moved=moved),
            conversation=fields.conversation(value, "conversation"),
            status=Status(value["status"]),
            created_at=fields.time(value, "created_at"),
            retired_at=fields.time_or_none(value, "retired_at"),
            retired_by=cast("Literal['client', 'judge'] | None", value["retired_by"]),
            superseded_by=None if successor is None else self._id(UUID(successor), moved=moved),
            revisions=revisions,
            attestations=tuple(_attestation(said, screened=screened) for said in _several(value, "attestations")),
            events=tuple(_event(event, screened=screened) for event in _several(value, "events")),
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
    if life.retired_at != life.head.valid_to:
        raise ValueError("its last revision does not end when it was retired")
    if life.status is Status.ACTIVE and any(said.words is None for said in life.revisions):
        raise ValueError("it is ACTIVE and was purged")
    if any(event.scope_key != life.scope_key for event in life.events):
        raise ValueError("an event is of another conversation")
    told_of = [said.revision for said in life.attestations] + [event.revision or 0 for event in life.events]
    if max(told_of, default=0) > len(life.revisions):
        raise ValueError("it tells of a revision that it does not have")
    for earlier, later in pairwise(life.revisions):
        if earlier.valid_to is None or earlier.valid_to > later.valid_from:
            raise ValueError(f"its revision {earlier.revision} ends after the next begins")


def _acknowledged(value: dict[str, Any]) -> bool:
    """Somebody said, when it was written, that it only looks like a credential."""
    told = [event["details"] for event in _several(value, "events")]
    return any(isinstance(details, dict) and isinstance(details.get(ACKNOWLEDGED), str) for details in told)


def _several(value: dict[str, Any], name: str) -> list[dict[str, Any]]:
    given = value[name]
    if not isinstance(given, list):
        raise ValueError(f"it has no {name}")
    return given


def _project(place: Place, value: dict[str, Any], *, screened: bool) -> Project:
    """Without the name, aliases and events that no server would have written: its memories do without."""
    left: list[Problem] = []
    names = list(_readable(_display_name, [value], place, left, screened=screened))
    aliases = tuple(_readable(_alias, _several(value, "aliases"), place, left, screened=screened))
    events = tuple(_readable(_project_event, _several(value, "events"), place, left, screened=screened))
    return Project(
        place=place,
        project_id=UUID(value["id"]),
        tenant=limits.tenant(value["tenant"], "tenant"),
        slug=limits.slug(value["slug"], "slug"),
        display_name=names[0] if names else None,
        created_at=fields.time(value, "created_at"),
        aliases=aliases,
        events=events,
        left=tuple(left),
    )


def _readable(
    read: Callable[..., _Read], values: list[dict[str, Any]], place: Place, left: list[Problem], *, screened: bool
) -> Iterator[_Read]:
    for value in values:
        try:
            yield read(value, screened=screened)
        except _REFUSED as refused:
            left.append(_problem(place, refused))


def _problem(place: Place, refused: Exception) -> Problem:
    match refused:
        case SensitiveContent():
            return sensitive(place, refused)
        case InvalidArgument():
            return Problem(place, refused.message)
        case _:
            told = f"{type(refused).__name__}: {str(refused)[:80]}"
            return Problem(place, f"a field is missing or malformed ({told})")


def _display_name(value: dict[str, Any], *, screened: bool) -> str | None:
    name = fields.label(value, "display_name", limits.display_name)
    if screened:
        refuse_labels(display_name=(name,))
    return name


def _alias(value: dict[str, Any], *, screened: bool) -> Alias:
    """As it is given, and not in today's form of its kind: names of other versions lead here too."""
    kind, told = fields.text(value, "kind"), fields.text(value, "value")
    match kind:
        case "git_remote":
            limits.git_remote(told)
        case "workspace_path":
            limits.workspace_path(told)
        case _:
            raise ValueError("the kind of an alias is unknown")
    if screened:
        refuse_labels(**{kind: (told,)})
    return Alias(kind=kind, value=told, created_at=fields.time(value, "created_at"))


def _project_event(value: dict[str, Any], *, screened: bool) -> Event:
    return _event(value | {"revision": None, "scope_key": ""}, screened=screened)


def _revision(value: dict[str, Any], *, screened: bool) -> Revision:
    content, reason = fields.content(value), fields.own(value, "reason", limits.reason)
    if screened:
        if content is not None:
            refuse_secrets(content)
        refuse_labels(reason=(reason,))
    return Revision(
        **_said(value, screened=screened),
        origin=cast("Origin", fields.text(value, "origin")),
        words=None if content is None else Words.of(content),
        reason=reason,
        valid_from=fields.time(value, "valid_from"),
        valid_to=fields.time_or_none(value, "valid_to"),
        purged_at=fields.time_or_none(value, "purged_at"),
    )


def _attestation(value: dict[str, Any], *, screened: bool) -> Attestation:
    return Attestation(**_said(value, screened=screened), created_at=fields.time(value, "created_at"))


def _said(value: dict[str, Any], *, screened: bool) -> dict[str, Any]:
    """What a revision and an attestation both tell."""
    category, tags = fields.label(value, "category", limits.category), fields.tags(value)
    source, author = fields.own(value, "source", limits.source), fields.client(value, "author_client")
    if screened:
        refuse_labels(category=(category,), tags=tags, source=(source,), author_client=(author,))
    return {
        "revision": fields.whole(value, "revision", least=1),
        "type": MemoryType(value["type"]),
        "category": category,
        "tags": tags,
        "importance": fields.whole_or_none(value, "importance"),
        "expires_at": fields.time_or_none(value, "expires_at"),
        "author_client": author,
        "author_conversation": fields.conversation(value, "author_conversation"),
        "author_kind": AuthorKind(value["author_kind"]),
        "source": source,
    }


def _event(value: dict[str, Any], *, screened: bool) -> Event:
    name = fields.client(value, "client")
    if screened:
        refuse_labels(client=(name,))
    return Event(
        event=fields.text(value, "event"),
        revision=None if value["revision"] is None else fields.whole(value, "revision", least=1),
        scope_key=fields.text(value, "scope_key"),
        client=name,
        request_id=fields.own(value, "request_id", limits.client_request_id),
        details=fields.details(value, screened=screened),
        at=fields.time(value, "at"),
    )
