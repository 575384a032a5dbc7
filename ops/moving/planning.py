"""What is to be done with a batch: what is new, what is there or goes on, what waits for its successor, what is said
already."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from uuid import UUID

import asyncpg

from ops.moving import continuing, rows
from ops.moving.continuing import Apart, Continuation, Here, Key
from ops.moving.doubles import Told
from ops.moving.lives import Life, Problem
from ops.moving.ordering import Held
from shared import statements
from shared.domain import Status
from shared.memories import races

_SQL = statements.load("moving")
_KNOWN = _SQL["known"]
_LIVE_TWINS = _SQL["live_twins"]
_PASSED_WORDS = _SQL["passed_words"]
_STANDING = _SQL["standing"]
_LOCK = _SQL["lock"]
_EXPIRE = statements.load("memories")["expire"]

TWICE = "it was told otherwise before in the same import, as memory {}: left as it was told first"
TO_COME = "it tells of a time that is still to come"

Twin = tuple[UUID, int]
Said = tuple[UUID, str, bytes]


@dataclass(slots=True)
class Written:
    """What became of a batch: `counts` by outcome, problems, and those whose successor is not there yet."""

    counts: Counter[str] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)
    held: list[Held] = field(default_factory=list)

    def add(self, other: Written) -> None:
        self.counts.update(other.counts)
        self.problems += other.problems
        self.held += other.held


@dataclass(slots=True)
class Plan:
    """A batch sorted by what is to be done with it."""

    written: Written
    born: list[Life] = field(default_factory=list)
    twins: list[tuple[Life, Twin]] = field(default_factory=list)
    continued: list[tuple[Continuation, Twin | None]] = field(default_factory=list)


class Planner:
    """Looks, and locks what the batch will lean on; a dry run only looks, and remembers what it would have written."""

    def __init__(self, connection: asyncpg.Connection, *, dry_run: bool) -> None:
        self._connection = connection
        self._dry_run = dry_run
        self._told = Told()
        self._seen: dict[Key, bytes | None] = {}
        self._seen_contents: dict[Said, Twin] = {}
        # Will leave the search tables when its successor is here, as long as that is waited for.
        self._leaving_later: set[Key] = set()
        self._waits = True

    def wait_no_longer(self) -> bool:
        """Takes what did not leave for staying; False when nothing was about to."""
        waited, self._leaving_later, self._waits = bool(self._leaving_later), set(), False
        return waited

    async def plan(self, lives: Sequence[Life], now: datetime) -> Plan:
        plan = Plan(Written())
        fresh, further = await self._apart(lives, plan.written)
        timely = []
        for life in [*fresh, *(told.life for told in further.values())]:
            if life.newest() > now:
                plan.written.problems.append(Problem(life.place, TO_COME))
            else:
                timely.append(life)
        ready = await self._succeeded(timely, plan.written)
        await self._sort(ready, further, plan, now)
        return plan

    async def _apart(self, lives: Sequence[Life], written: Written) -> tuple[list[Life], dict[Key, Continuation]]:
        """Those that are not there yet, and those of which more is told than is there, each once."""
        here = await self._here([life.key for life in lives])
        there: dict[Key, Life] = {}
        fresh: dict[Key, Life] = {}
        for life in lives:
            before = fresh.get(life.key) or there.get(life.key)
            if before is not None and not _is_told(life, before):
                # Compared with what is here by then, in the next round.
                written.held.append(Held.of(life))
            elif self._seen.get(life.key, _words(life)) != _words(life) and not life.exact:
                written.problems.append(_twice(life))
            elif before is not None or life.key in self._seen:
                written.counts["known"] += 1
            elif life.key in here:
                there[life.key] = life
            else:
                fresh[life.key] = life
        further: dict[Key, Continuation] = {}
        stands = await continuing.stands(self._connection, there, here)
        for key, life in there.items():
            stand = stands[key]
            if isinstance(stand, Continuation):
                further[key] = stand
                continue
            if isinstance(stand, Apart) and stand.parted and self._told.otherwise(key, _saying(life)):
                written.problems.append(_twice(life))
            elif isinstance(stand, Apart):
                written.problems.append(Problem(life.place, stand.reason, "changed"))
            else:
                written.counts["known"] += 1
        return list(fresh.values()), further

    async def _here(self, keys: Sequence[Key]) -> dict[Key, Here]:
        found = await self._connection.fetch(_KNOWN, *rows.columns(keys, 2))
        return {
            keys[row["place"] - 1]: Here(
                status=Status(row["status"]),
                revision=row["revision_no"],
                retired_at=row["retired_at"],
                superseded_by=row["superseded_by"],
                content_hash=row["content_hash"],
                valid_from=row["valid_from"],
                attestations=row["attestations"],
                events=row["events"],
            )
            for row in found
        }

    async def _succeeded(self, lives: list[Life], written: Written) -> list[Life]:
        """Those whose successor is there, or comes with this batch."""
        wanted = {life.successor for life in lives if life.successor is not None}
        asked = sorted(wanted - {life.key for life in lives})
        found = await self._connection.fetch(_STANDING, *rows.columns(asked, 2)) if asked else []
        there = self._seen.keys() | {asked[row["place"] - 1] for row in found}
        # From those that nothing succeeded on: a ring of successors never gets in.
        ready: list[Life] = []
        waiting = lives
        while waiting:
            coming = [life for life in waiting if life.successor is None or life.successor in there]
            if not coming:
                break
            there |= {life.key for life in coming}
            ready += coming
            waiting = [life for life in waiting if life.key not in there]
        written.held += [Held.of(life) for life in waiting]
        return ready

    async def _sort(self, lives: list[Life], further: dict[Key, Continuation], plan: Plan, now: datetime) -> None:
        """Apart: those that say what a live memory, or an earlier one of this batch, says already.

        What was replaced or forgotten here does not come back by being in a file; a memory with a history has its own.
        """
        contents = {life.key: said for life in lives if (said := _said(life, now)) is not None}
        continued = [further[life.key] for life in lives if life.key in further]
        leaving = {told.life.key for told in continued if told.moves}
        self._leaving_later -= leaving
        if self._waits:
            self._leaving_later |= {key for key, told in further.items() if told.moves} - leaving
        twins = await self._twins(list(contents.values()), continued)
        left = {key for key, said in contents.items() if said in twins and _key(said, twins[said]) in leaving}
        twins = dict(self._seen_contents) | {
            said: twin for said, twin in twins.items() if _key(said, twin) not in leaving
        }
        asked = [life for life in lives if life.key in contents and life.key not in further and not life.storied]
        passed = await self._passed([life for life in asked if contents[life.key] not in twins], contents)
        passed |= {life.key for life in asked if life.key in left and not life.exact}
        lives = self._unfollowed(lives, passed, plan.written)
        rings = await continuing.rings(self._connection, [life for life in lives if life.key in further])
        for life in lives:
            said = contents.get(life.key)
            twin = None if said is None else twins.get(said)
            if said is not None and twin is not None and _key(said, twin) in self._leaving_later:
                plan.written.held.append(Held.of(life))
            elif life.key in rings:
                plan.written.problems.append(Problem(life.place, continuing.RING))
            elif life.key in further:
                told = further[life.key]
                plan.continued.append((told, twin if told.moves else None))
                plan.written.counts["continued"] += 1
                if told.note is not None:
                    plan.written.problems.append(Problem(life.place, told.note, "changed"))
            elif twin is None:
                plan.born.append(life)
                plan.written.counts["imported"] += 1
            else:
                plan.twins.append((life, twin))
                plan.written.counts["deduplicated"] += 1
            if said is not None:
                twins.setdefault(said, (life.memory_id, life.head.revision))

    def _unfollowed(self, lives: list[Life], passed: set[Key], written: Written) -> list[Life]:
        """Without those that are left out, and without what they superseded."""
        written.counts["passed"] += len(passed)
        gone = set(passed)
        kept = [life for life in lives if life.key not in gone]
        while orphans := {life.key for life in kept if life.successor in gone}:
            written.held += [Held.of(life) for life in kept if life.key in orphans]
            gone = orphans
            kept = [life for life in kept if life.key not in gone]
        return kept

    async def _passed(self, lives: list[Life], contents: dict[Key, Said]) -> set[Key]:
        """Those whose words held here and hold no more; of our own export, where they were said before that."""
        asked = [(*contents[life.key], life.head.valid_from if life.exact else None) for life in lives]
        found = await self._connection.fetch(_PASSED_WORDS, *rows.columns(asked, 4)) if asked else []
        return {lives[row["place"] - 1].key for row in found}

    async def _twins(self, asked: list[Said], continued: Iterable[Continuation]) -> dict[Said, Twin]:
        """Who says these already; locked with what goes on, so that both stay as they are. Expired ones give way."""
        here = {told.life.key: told.here for told in continued}
        if not asked and not here:
            return {}
        columns = rows.columns(asked, 3)
        found = await self._connection.fetch(_LIVE_TWINS, *columns)
        if (found or here) and not self._dry_run:
            keys = {(asked[row["place"] - 1][0], row["memory_id"]): row["expired"] for row in found}
            await self._connection.execute(_LOCK, *rows.columns(sorted(keys.keys() | here.keys()), 2))
            if await self._connection.fetch(_LIVE_TWINS, *columns) != found or await self._here(list(here)) != here:
                raise races.Raced
            expired = sorted(key for key, is_expired in keys.items() if is_expired)
            if expired:
                await self._connection.execute(_EXPIRE, *rows.columns(expired, 2))
        standing = [row for row in found if not row["expired"]]
        return {asked[row["place"] - 1]: (row["memory_id"], row["revision_no"]) for row in standing}

    def settle(self, lives: Sequence[Life], plan: Plan, now: datetime) -> None:
        """The batch is done, but for what is held back: what is told otherwise from here on stands twice in it."""
        held = {each.place.told for each in plan.written.held}
        for life in lives:
            if life.place.told not in held:
                self._told.add(life.key, _saying(life))
        if self._dry_run:
            self._remember(plan, now)

    def _remember(self, plan: Plan, now: datetime) -> None:
        """What a dry run would have written, so that it tells the doubles inside of what it reads."""
        for life in plan.born:
            self._seen[life.key] = _words(life)
            said = _said(life, now)
            if said is not None:
                self._seen_contents[said] = (life.memory_id, life.head.revision)
        self._seen.update((life.key, _words(life)) for life, _ in plan.twins if life.keeps)


def _twice(life: Life) -> Problem:
    return Problem(life.place, TWICE.format(life.memory_id), "twice")


def _is_told(life: Life, before: Life) -> bool:
    """True if an earlier record of the same memory tells as much."""
    if life.exact:
        return (life.revisions, life.attestations, life.events) == (
            before.revisions, before.attestations, before.events,
        )  # fmt: skip
    told = (_words(life), life.status, life.superseded_by)
    return told == (_words(before), before.status, before.superseded_by)


def _saying(life: Life) -> bytes:
    """A digest of what is told of it."""
    told: list[object] = [life.status, life.superseded_by, _words(life)]
    if life.exact:
        told += [life.retired_at, len(life.attestations), len(life.events)]
        told += [(said.words and said.words.content_hash, said.valid_from, said.tags) for said in life.revisions]
    return blake2b(repr(told).encode(), digest_size=16).digest()


def _words(life: Life) -> bytes | None:
    return None if life.head.words is None else life.head.words.content_hash


def _key(said: Said, twin: Twin) -> Key:
    return said[0], twin[0]


def _said(life: Life, now: datetime) -> Said | None:
    """What a life would say in the search tables; None when it would not stand there."""
    words = life.head.words
    return (life.project_id, life.scope_key, words.content_hash) if words is not None and life.is_live(now) else None
