"""A memory of another system: what it says and what is known of it, checked against the bounds of memhub."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID, uuid5

import orjson

from ops.moving.lives import Attestation, Event, Life, Place, Problem, Revision, Words
from ops.operating import CLIENT
from shared import limits
from shared.domain import AuthorKind, MemoryType, Status
from shared.errors import InvalidArgument, SensitiveContent
from shared.screening import refuse_secrets

IMPORTED = "imported"

CLOCKS_DIFFER_MAX = timedelta(minutes=5)

_SECONDS_MAX = 10**11  # beyond it a number of seconds is one of milliseconds
_LABELS_REMEMBERED = 4_096


@dataclass(frozen=True, slots=True)
class Context:
    """What every entry of one import shares; `now` is the database's clock when the import began."""

    format: str
    project_id: UUID
    now: datetime
    accept_sensitive: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One memory as found, unchecked. `key` is what the other system knows it by, a text or a whole number; None: its
    content.

    `status` None: SUPERSEDED with a successor, DELETED with a time of retirement alone, else ACTIVE. `conversation` is
    the one that alone may find it.
    """

    place: Place
    content: object
    key: object = None
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
    superseded_by: object = None
    conversation: object = None
    author_conversation: object = None
    keeps: bool = False
    storied: bool = False


# What a reader raises over a record that is not of its form, and its author did not think of.
UNREADABLE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


def unreadable(place: Place, broken: Exception) -> Problem:
    return Problem(place, f"it cannot be read ({type(broken).__name__})")


def sensitive(place: Place, refused: SensitiveContent) -> Problem:
    # The place says where: the line of a content within it would be a second number.
    field = "" if refused.argument == "content" else f"{refused.argument}: "
    return Problem(place, f"{field}it looks like a credential ({refused.detector})", "sensitive")


def life(entry: Entry, context: Context) -> Life | Problem:
    """The entry as a memory with one revision, or why it cannot be one."""
    try:
        return _life(entry, context)
    except SensitiveContent as refused:
        return sensitive(entry.place, refused)
    except InvalidArgument as refused:
        return Problem(entry.place, refused.message)
    except UNREADABLE as broken:
        return unreadable(entry.place, broken)


def instant(value: object, argument: str) -> datetime | None:
    """ISO 8601 (UTC where it names no offset), or seconds or milliseconds since 1970. Raises InvalidArgument.

    None too for the year 1, which many programs write for a time that is not known, and for an end in the year 9999.
    """
    if value is None or value == "":
        return None
    try:
        given = _given(value)
        if given.year == MINYEAR or (argument == "expires_at" and given.year == MAXYEAR):
            return None
        at = given.astimezone(UTC) if given.tzinfo is not None else given.replace(tzinfo=UTC)
    except (ValueError, OverflowError, OSError):
        raise InvalidArgument(argument, "must be an ISO 8601 instant", next="Write 2026-01-01T00:00:00Z.") from None
    if not limits.is_storable(at):
        raise InvalidArgument(argument, "must lie between the years 1970 and 9999", next="Leave it out.")
    return at


def _given(value: object) -> datetime:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return datetime.fromtimestamp(value / 1000 if value > _SECONDS_MAX else value, UTC)
    return datetime.fromisoformat(str(value).strip())


def refuse_labels(**labels: Iterable[str | None]) -> None:
    """Raises SensitiveContent for what stands around a content and looks like a credential, naming the field."""
    for argument, texts in labels.items():
        for text in texts:
            if text:
                _refuse_label(argument, text)


# Thousands of memories share a few tags, sources and authors. What is refused is not remembered.
@lru_cache(maxsize=_LABELS_REMEMBERED)
def _refuse_label(argument: str, text: str) -> None:
    refuse_secrets(text, argument=argument)


def memory_id(context: Context, key: str) -> UUID:
    """The same memory of the same system has the same id in a project, whenever and however often it is imported."""
    return uuid5(context.project_id, f"{context.format}\0{key}")


class _Said(NamedTuple):
    """What of an entry may look like a credential, checked."""

    words: Words
    category: str | None
    tags: tuple[str, ...]
    source: str | None
    author: str


def _life(entry: Entry, context: Context) -> Life | Problem:
    said = _said(entry, context)
    key, successor = _known_by("id", entry.key), _known_by("superseded_by", entry.superseded_by)
    conversation = _conversation("conversation", entry.conversation)
    type_ = limits.choice("type", entry.type, MemoryType)
    created_at, expires_at = _span(entry, type_, context)
    if expires_at is not None and expires_at <= context.now:
        return Problem(entry.place, f"it expired at {expires_at.isoformat()}", "expired")
    if created_at > context.now:
        return Problem(entry.place, "expires_at: a TASK expires at most 30 days from now")
    status, retired_at = _retired(entry, created_at, context)
    head = Revision(
        revision=1,
        origin="import",
        words=said.words,
        type=type_,
        category=said.category,
        tags=said.tags,
        importance=limits.importance(entry.importance),
        expires_at=expires_at,
        author_client=said.author,
        author_conversation=conversation or _conversation("author_conversation", entry.author_conversation),
        author_kind=limits.choice("author_kind", entry.author_kind, AuthorKind),
        source=said.source,
        reason=None,
        valid_from=created_at,
        valid_to=retired_at,
        purged_at=None,
    )
    return Life(
        place=entry.place,
        project_id=context.project_id,
        # The source too: what stands in two files is said twice.
        memory_id=memory_id(context, f"{entry.source}\0{said.words.content_hash.hex()}" if key is None else key),
        conversation=conversation,
        status=status,
        created_at=created_at,
        retired_at=retired_at,
        retired_by=None if retired_at is None else "client",
        superseded_by=None if successor is None else memory_id(context, successor),
        revisions=(head,),
        attestations=(_attestation(head),),
        events=(_imported(entry, context, conversation),),
        keeps=entry.keeps,
        storied=entry.storied,
        exact=False,
    )


def _said(entry: Entry, context: Context) -> _Said:
    if isinstance(entry.content, bytes):
        raise InvalidArgument("content", "is not UTF-8", next="Mend it where it comes from.")
    content = limits.content(entry.content)
    category = limits.category(entry.category)
    tags = limits.tags(entry.tags) or ()
    source = limits.source(entry.source)
    author = context.format if entry.author is None else _author(entry.author)
    if not context.accept_sensitive:
        refuse_secrets(content)
        refuse_labels(category=(category,), tags=tags, source=(source,), author=(author,))
    return _Said(Words.of(content), category, tags, source, author)


def _span(entry: Entry, type_: MemoryType, context: Context) -> tuple[datetime, datetime | None]:
    """When it was said and when it expires; a TASK counts as said at most 30 days before its end."""
    created_at = _past("created_at", entry.created_at, context) or context.now
    expires_at = instant(entry.expires_at, "expires_at")
    if type_ is MemoryType.TASK:
        expires_at = expires_at or context.now + timedelta(days=limits.TASK_TTL_DAYS_DEFAULT)
        created_at = max(created_at, expires_at - timedelta(days=limits.TASK_TTL_DAYS_MAX))
    return created_at, expires_at


def _author(value: object) -> str:
    if not isinstance(value, str) or len(value.encode(errors="replace")) > limits.CLIENT_NAME_BYTES_MAX:
        raise InvalidArgument(
            "author", f"must be a text of at most {limits.CLIENT_NAME_BYTES_MAX} bytes", next="Shorten it."
        )
    return limits.client_name(value)


def _conversation(argument: str, value: object) -> str | None:
    return None if value is None else limits.conversation(value, argument)


def _known_by(argument: str, value: object) -> str | None:
    # JSON's true is a whole number to Python, and of two objects nobody could say whether they are one.
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | str) or value == "":
        raise InvalidArgument(argument, "must be a text or a whole number", next="Leave it out where there is none.")
    return str(value)


def _retired(entry: Entry, created_at: datetime, context: Context) -> tuple[Status, datetime | None]:
    retired_at = _past("retired_at", entry.retired_at, context)
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
    return status, max(created_at, retired_at)


def _past(argument: str, value: object, context: Context) -> datetime | None:
    """An instant up to now. Raises InvalidArgument for one to come, but for what clocks differ by."""
    given = instant(value, argument)
    if given is not None and given > context.now + CLOCKS_DIFFER_MAX:
        raise InvalidArgument(argument, "it tells of a time that is still to come", next="Correct it.")
    return None if given is None else min(given, context.now)


def _attestation(head: Revision) -> Attestation:
    return Attestation(
        revision=head.revision,
        author_client=head.author_client,
        author_conversation=head.author_conversation,
        author_kind=head.author_kind,
        type=head.type,
        category=head.category,
        tags=head.tags,
        importance=head.importance,
        expires_at=head.expires_at,
        source=head.source,
        created_at=head.valid_from,
    )


def _imported(entry: Entry, context: Context, conversation: str | None) -> Event:
    details = {"format": context.format, "place": entry.place.told}
    return Event(
        event=IMPORTED,
        revision=1,
        scope_key=conversation or "",
        client=CLIENT,
        request_id=None,
        details=orjson.dumps(details).decode(),
        at=context.now,
    )
