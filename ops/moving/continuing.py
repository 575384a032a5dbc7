"""How what a file tells of a memory stands to what is here of it, and the writing of what it tells more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, TypeVar
from uuid import UUID

import asyncpg
import orjson

from ops.moving import rows
from ops.moving.lives import Attestation, Event, Life, Revision
from shared import statements
from shared.domain import Status

APART = "it is told otherwise here, as memory {}: left as it is here"
DESTROYED = "its words were destroyed there and stand here: memhub purge {}"
RING = "it would be superseded by what it superseded itself"

_SQL = statements.load("moving")
_REVISIONS_HERE = _SQL["revisions_here"]
_ATTESTATIONS_HERE = _SQL["attestations_here"]
_EVENTS_HERE = _SQL["events_here"]
_RINGS = _SQL["rings"]
_LEAVE = _SQL["leave"]
_CLOSE = _SQL["close"]
_ADVANCE = _SQL["advance"]
_RETIRE = _SQL["retire"]

Key = tuple[UUID, UUID]
_Told = TypeVar("_Told", Attestation, Event)


@dataclass(frozen=True, slots=True, kw_only=True)
class Here:
    """What the row of a memory and its head say, and how much is told of it."""

    status: Status
    revision: int
    retired_at: datetime | None
    superseded_by: UUID | None
    content_hash: bytes | None
    valid_from: datetime
    attestations: int
    events: int


@dataclass(frozen=True, slots=True)
class Continuation:
    """A memory as it is to be, with the revisions that are here already, and what is told of it and not here yet.

    `moves` is False where only attestations or events are new; `note` is what a person should know of it.
    """

    life: Life
    here: Here
    moves: bool
    attestations: Sequence[Attestation]
    events: Sequence[Event]
    note: str | None = None

    @property
    def new(self) -> Life:
        """Only the revisions that are not here."""
        return replace(self.life, revisions=self.life.revisions[self.here.revision :])


@dataclass(frozen=True, slots=True)
class Apart:
    """Both sides went on: `reason` tells it. Not `parted`: its words were destroyed there and are here."""

    reason: str
    parted: bool = True


Stand = Continuation | Apart | Literal["known"]


async def stands(connection: asyncpg.Connection, lives: dict[Key, Life], here: dict[Key, Here]) -> dict[Key, Stand]:
    """How each of these stands to what is here; what is read beyond `here` is read of those alone that differ."""
    found: dict[Key, Stand] = {
        key: _plain(life, here[key]) for key, life in lives.items() if not life.exact or _is_same(life, here[key])
    }
    asked = sorted(key for key in lives if key not in found)
    if asked:
        columns = rows.columns(asked, 2)
        revisions = _grouped(await connection.fetch(_REVISIONS_HERE, *columns), asked)
        attestations = _grouped(await connection.fetch(_ATTESTATIONS_HERE, *columns), asked)
        events = _grouped(await connection.fetch(_EVENTS_HERE, *columns), asked)
        for key in asked:
            found[key] = _exact(lives[key], here[key], revisions[key], attestations[key], events[key])
    return found


async def rings(connection: asyncpg.Connection, lives: Iterable[Life]) -> set[Key]:
    """Those whose successor they superseded themselves, over however many others."""
    asked = [(*life.key, life.superseded_by) for life in lives if life.superseded_by is not None]
    found = await connection.fetch(_RINGS, *rows.columns(asked, 3)) if asked else []
    return {asked[row["place"] - 1][:2] for row in found}


async def leave(connection: asyncpg.Connection, continuations: Sequence[Continuation]) -> None:
    """Takes what moves out of the search tables, so that others may say what it said."""
    keys = [told.life.key for told in continuations if told.moves]
    if keys:
        await connection.execute(_LEAVE, *rows.columns(keys, 2))


async def move(connection: asyncpg.Connection, continuations: Sequence[Continuation]) -> None:
    """Closes the revision that was the head, then takes each memory to its new head and its end, step by step: the
    schema lets no memory jump. The new revisions are written by the caller, before."""
    moving = [told for told in continuations if told.moves]
    for step in range(max((len(told.life.revisions) - told.here.revision for told in moving), default=0)):
        ahead = [
            (*told.life.key, told.here.revision + step + 1)
            for told in moving
            if told.here.revision + step < len(told.life.revisions)
        ]
        await connection.execute(_ADVANCE, *rows.columns(ahead, 3))
    ends = [
        (*life.key, life.status, life.retired_at, life.retired_by, life.superseded_by)
        for told in moving
        if (life := told.life).status is not Status.ACTIVE
    ]
    if ends:
        await connection.execute(_RETIRE, *rows.columns(ends, 6))


async def close(connection: asyncpg.Connection, continuations: Sequence[Continuation]) -> None:
    """Closes what was the head here at the time that the file tells."""
    heads = [
        (*told.life.key, told.here.revision, told.life.revisions[told.here.revision - 1].valid_to)
        for told in continuations
        if told.moves
    ]
    if heads:
        await connection.execute(_CLOSE, *rows.columns(heads, 4))


def _plain(life: Life, here: Here) -> Stand:
    """Of a record that tells no history: what was brought from it and is unchanged here retires when it did there."""
    words = life.head.words
    if life.exact:
        return "known"
    if words is None or here.content_hash != words.content_hash:
        return Apart(APART.format(life.memory_id))
    if life.status is Status.ACTIVE or here.status is not Status.ACTIVE:
        return "known"
    if here.revision > 1:
        return Apart(APART.format(life.memory_id))
    assert life.retired_at is not None
    at = max(life.retired_at, here.valid_from)
    ended = replace(life, retired_at=at, revisions=(replace(life.head, valid_from=here.valid_from, valid_to=at),))
    return Continuation(ended, here, True, (), tuple(_ended(life, event) for event in life.events))


def _ended(life: Life, imported: Event) -> Event:
    details = orjson.loads(imported.details)
    if life.superseded_by is None:
        return replace(imported, event="forgotten")
    told = orjson.dumps(details | {"superseded_by": str(life.superseded_by)}).decode()
    return replace(imported, event="superseded", details=told)


def _is_same(life: Life, here: Here) -> bool:
    words = life.head.words
    return here == Here(
        status=life.status,
        revision=life.head.revision,
        retired_at=life.retired_at,
        superseded_by=life.superseded_by,
        content_hash=None if words is None else words.content_hash,
        valid_from=life.head.valid_from,
        attestations=len(life.attestations),
        events=len(life.events),
    )


def _exact(
    life: Life,
    here: Here,
    revisions: Sequence[asyncpg.Record],
    attestations_here: Sequence[asyncpg.Record],
    events_here: Sequence[asyncpg.Record],
) -> Stand:
    """Of a record with its whole history, which is compared revision by revision."""
    common = list(zip(revisions, life.revisions, strict=False))
    moves = _moves(life, here, common)
    # Purged here: what is told of it may hold the words.
    purged = any(row["content_hash"] is None for row in revisions)
    if moves is None or (purged and moves):
        return Apart(APART.format(life.memory_id))
    if purged:
        return "known"
    destroyed = any(row["content_hash"] is not None and said.words is None for row, said in common)
    note = DESTROYED.format(life.memory_id) if destroyed else None
    # Of the words that stand here nobody may read that they were purged.
    told = [event for event in life.events if not (destroyed and event.event == "purged")]
    attestations = _beyond(map(_said_by, attestations_here), [(_said_key(said), said) for said in life.attestations])
    events = _beyond(map(_told_by, events_here), [(_told_key(event), event) for event in told])
    if moves or attestations or events:
        return Continuation(life, here, moves, attestations, events, note)
    return Apart(note, parted=False) if note else "known"


def _moves(life: Life, here: Here, common: list[tuple[asyncpg.Record, Revision]]) -> bool | None:
    """Whether the file tells more than what is here, and no: both are one, or more is here. None: they parted."""
    if not all(_is_one(row, said) for row, said in common):
        return None
    ends = [(row["valid_to"], said.valid_to) for row, said in common]
    if any(here_to is not None and there_to is not None and here_to != there_to for here_to, there_to in ends):
        return None
    if len(life.revisions) != here.revision:
        return len(life.revisions) > here.revision
    if Status.ACTIVE in (life.status, here.status):
        return life.status is not Status.ACTIVE
    return False if _end(life) == _end(here) else None


def _end(of: Life | Here) -> tuple[object, ...]:
    return of.status, of.retired_at, of.superseded_by


def _is_one(row: asyncpg.Record, said: Revision) -> bool:
    """True if both are the same revision, purged on one side or not."""
    skeleton = ("origin", "type", "importance", "expires_at", "author_client", "author_kind", "valid_from")
    if any(row[name] != getattr(said, name) for name in skeleton):
        return False
    if row["content_hash"] is None or said.words is None:
        return True
    own = ("category", "source", "reason")
    return (
        row["content_hash"] == said.words.content_hash
        and tuple(row["tags"]) == said.tags
        and all(row[name] == getattr(said, name) for name in own)
    )


# By who said it when, never by the words: those a purge may have redacted here.
def _said_by(row: asyncpg.Record) -> Hashable:
    return row["revision_no"], row["author_client"], row["created_at"]


def _said_key(said: Attestation) -> Hashable:
    return said.revision, said.author_client, said.created_at


def _told_by(row: asyncpg.Record) -> Hashable:
    return row["event"], row["revision_no"], row["client"], row["created_at"]


def _told_key(told: Event) -> Hashable:
    return told.event, told.revision, told.client, told.at


def _beyond(here: Iterable[Hashable], told: Iterable[tuple[Hashable, _Told]]) -> tuple[_Told, ...]:
    """What is told and not here, in its order."""
    left = Counter(here)
    new = []
    for key, item in told:
        if left[key]:
            left[key] -= 1
        else:
            new.append(item)
    return tuple(new)


def _grouped(found: Iterable[asyncpg.Record], asked: Sequence[Key]) -> dict[Key, list[asyncpg.Record]]:
    groups: dict[Key, list[asyncpg.Record]] = {key: [] for key in asked}
    for row in found:
        groups[asked[row["place"] - 1]].append(row)
    return groups
