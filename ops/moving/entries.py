"""A memory of another system: what it says and what is known of it, checked against the bounds of memhub."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid5

import orjson

from ops.moving.lives import Attestation, Event, Life, Place, Problem, Revision, Words
from ops.operating import CLIENT
from shared import limits
from shared.domain import AuthorKind, MemoryType, Status
from shared.errors import InvalidArgument, SensitiveContent
from shared.screening import refuse_secrets

IMPORTED = "imported"

_SECONDS_MAX = 10**11  # beyond it a number of seconds is one of milliseconds


@dataclass(frozen=True, slots=True)
class Context:
    """What every entry of one import shares; `now` is the database's clock when the import began."""

    format: str
    project_id: UUID
    now: datetime
    accept_sensitive: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One memory as found, unchecked. `key` is what the other system knows it by; None: its content.

    `status` None: SUPERSEDED with a successor, DELETED with a time of retirement alone, else ACTIVE.
    """

    place: Place
    content: object
    key: str | None = None
    type: object = MemoryType.FACT
    category: object = None
    tags: object = ()
    importance: object = None
    created_at: object = None
    expires_at: object = None
    author: object = None
    author_kind: object = AuthorKind.IMPORT
    source: object = None
    status: object = None
    retired_at: object = None
    superseded_by: str | None = None
    keeps: bool = False


def life(entry: Entry, context: Context) -> Life | Problem:
    """The entry as a memory with one revision, or why it cannot be one."""
    try:
        return _life(entry, context)
    except SensitiveContent as refused:
        return Problem(entry.place, refused.message, "sensitive")
    except InvalidArgument as refused:
        return Problem(entry.place, refused.message)


def instant(value: object, argument: str) -> datetime | None:
    """ISO 8601 (UTC where it names no offset), or seconds or milliseconds since 1970. Raises InvalidArgument."""
    if value is None or value == "":
        return None
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1000 if value > _SECONDS_MAX else value, UTC)
        given = datetime.fromisoformat(str(value).strip())
        return given.astimezone(UTC) if given.tzinfo is not None else given.replace(tzinfo=UTC)
    except (ValueError, OverflowError, OSError):
        raise InvalidArgument(argument, "must be an ISO 8601 instant", next="Write 2026-01-01T00:00:00Z.") from None


def memory_id(context: Context, key: str) -> UUID:
    """The same memory of the same system has the same id in a project, whenever and however often it is imported."""
    return uuid5(context.project_id, f"{context.format}\0{key}")


def _life(entry: Entry, context: Context) -> Life | Problem:
    content = limits.content(entry.content)
    if not context.accept_sensitive:
        refuse_secrets(content)
    words = Words.of(content)
    type_ = limits.choice("type", entry.type, MemoryType)
    created_at = min(instant(entry.created_at, "created_at") or context.now, context.now)
    expires_at = instant(entry.expires_at, "expires_at")
    if type_ is MemoryType.TASK:
        expires_at = expires_at or context.now + timedelta(days=limits.TASK_TTL_DAYS_DEFAULT)
        created_at = max(created_at, expires_at - timedelta(days=limits.TASK_TTL_DAYS_MAX))
    if expires_at is not None and expires_at <= context.now:
        return Problem(entry.place, f"it expired at {expires_at.isoformat()}", "expired")
    if created_at > context.now:
        return Problem(entry.place, "expires_at: a TASK expires at most 30 days from now")
    status, retired_at = _retired(entry, created_at, context)
    head = Revision(
        revision=1,
        origin="import",
        words=words,
        type=type_,
        category=limits.category(entry.category),
        tags=limits.tags(entry.tags) or (),
        importance=limits.importance(entry.importance),
        expires_at=expires_at,
        author_client=context.format if entry.author is None else limits.client_name(entry.author),
        author_conversation=None,
        author_kind=limits.choice("author_kind", entry.author_kind, AuthorKind),
        source=limits.source(entry.source),
        reason=None,
        valid_from=created_at,
        valid_to=retired_at,
        purged_at=None,
    )
    return Life(
        place=entry.place,
        project_id=context.project_id,
        memory_id=memory_id(context, _key(entry, words)),
        conversation=None,
        status=status,
        created_at=created_at,
        retired_at=retired_at,
        retired_by=None if retired_at is None else "client",
        superseded_by=None if entry.superseded_by is None else memory_id(context, entry.superseded_by),
        revisions=(head,),
        attestations=(_attestation(head),),
        events=(_imported(entry, context),),
        keeps=entry.keeps,
    )


def _key(entry: Entry, words: Words) -> str:
    # The source too: what stands in two files is said twice.
    return f"{entry.source}\0{words.content_hash.hex()}" if entry.key is None else entry.key


def _retired(entry: Entry, created_at: datetime, context: Context) -> tuple[Status, datetime | None]:
    retired_at = instant(entry.retired_at, "retired_at")
    unnamed = Status.ACTIVE if retired_at is None else Status.DELETED
    status = unnamed if entry.status is None else limits.choice("status", entry.status, Status)
    if entry.superseded_by is not None:
        status = Status.SUPERSEDED
    elif status is Status.SUPERSEDED:
        raise InvalidArgument("superseded_by", "must name what superseded it", next="Give the id of its successor.")
    if status is Status.ACTIVE:
        if retired_at is not None:
            raise InvalidArgument("status", "is ACTIVE beside a retired_at", next="Leave one of them out.")
        return status, None
    retired_at = retired_at or context.now
    return status, max(created_at, min(retired_at, context.now))


def _attestation(head: Revision) -> Attestation:
    return Attestation(
        revision=head.revision,
        author_client=head.author_client,
        author_conversation=None,
        author_kind=head.author_kind,
        type=head.type,
        category=head.category,
        tags=head.tags,
        importance=head.importance,
        expires_at=head.expires_at,
        source=head.source,
        created_at=head.valid_from,
    )


def _imported(entry: Entry, context: Context) -> Event:
    details = {"format": context.format, "place": entry.place.told}
    return Event(
        event=IMPORTED,
        revision=1,
        scope_key="",
        client=CLIENT,
        request_id=None,
        details=orjson.dumps(details).decode(),
        at=context.now,
    )
