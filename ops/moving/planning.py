"""What is to be done with a batch: what is new, what is there, what waits for its successor, what is said already."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

import asyncpg

from ops.moving import rows
from ops.moving.lives import Life, Place, Problem
from shared import statements
from shared.memories import races

_SQL = statements.load("moving")
_KNOWN = _SQL["known"]
_LIVE_TWINS = _SQL["live_twins"]
_PASSED_WORDS = _SQL["passed_words"]
_LOCK_TWINS = _SQL["lock_twins"]
_EXPIRE = statements.load("memories")["expire"]

Twin = tuple[UUID, int]
Said = tuple[UUID, str, bytes]


@dataclass(slots=True)
class Written:
    """What became of a batch: `counts` by outcome, problems, and the places whose successor is not there yet."""

    counts: Counter[str] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)
    held: list[Place] = field(default_factory=list)

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


class Planner:
    """Looks, and locks what the batch will lean on; a dry run only looks, and remembers what it would have written."""

    def __init__(self, connection: asyncpg.Connection, *, dry_run: bool) -> None:
        self._connection = connection
        self._dry_run = dry_run
        self._seen: set[tuple[UUID, UUID]] = set()
        self._seen_contents: dict[Said, Twin] = {}

    async def plan(self, lives: Sequence[Life], now: datetime) -> Plan:
        plan = Plan(Written())
        fresh = await self._fresh(lives, plan.written)
        timely = []
        for life in fresh:
            if life.newest() > now:
                plan.written.problems.append(Problem(life.place, "it tells of a time that is still to come"))
            else:
                timely.append(life)
        ready = await self._succeeded(timely, plan.written)
        await self._sort(ready, plan, now)
        return plan

    async def _fresh(self, lives: Sequence[Life], written: Written) -> list[Life]:
        """Those that are not there yet, each once."""
        known = await self._connection.fetch(_KNOWN, *rows.columns([life.key for life in lives], 2))
        heads = {row["place"] - 1: row["content_hash"] for row in known}
        fresh: dict[tuple[UUID, UUID], Life] = {}
        for place, life in enumerate(lives):
            if place in heads or life.key in fresh or life.key in self._seen:
                written.counts["known"] += 1
                said = life.head.words
                if not life.keeps and place in heads and said is not None and heads[place] != said.content_hash:
                    written.counts["changed"] += 1
            else:
                fresh[life.key] = life
        return list(fresh.values())

    async def _succeeded(self, lives: list[Life], written: Written) -> list[Life]:
        """Those whose successor is there, or comes with this batch."""
        wanted = {_successor(life) for life in lives if life.superseded_by is not None}
        asked = sorted(wanted - {life.key for life in lives})
        rows_there = await self._connection.fetch(_KNOWN, *rows.columns(asked, 2)) if asked else []
        there = self._seen | {asked[row["place"] - 1] for row in rows_there}
        # From those that nothing succeeded on: a ring of successors never gets in.
        ready: list[Life] = []
        waiting = lives
        while waiting:
            coming = [life for life in waiting if life.superseded_by is None or _successor(life) in there]
            if not coming:
                break
            there |= {life.key for life in coming}
            ready += coming
            waiting = [life for life in waiting if life.key not in there]
        written.held += [life.place for life in waiting]
        return ready

    async def _sort(self, lives: list[Life], plan: Plan, now: datetime) -> None:
        """Apart: those that say what a live memory, or an earlier one of this batch, says already.

        What was replaced or forgotten here does not come back by being in a file; a memory with a history has its own.
        """
        live = [(life, said) for life in lives if (said := _said(life, now)) is not None]
        twins = dict(self._seen_contents) | await self._twins([said for _, said in live])
        contents = {life.key: said for life, said in live}
        passed = await self._passed([said for life, said in live if not life.keeps and said not in twins])
        for life in lives:
            said = contents.get(life.key)
            twin = None if said is None else twins.get(said)
            if twin is None and said in passed and not life.keeps:
                plan.written.counts["passed"] += 1
            elif twin is None:
                plan.born.append(life)
                plan.written.counts["imported"] += 1
                if said is not None:
                    twins[said] = (life.memory_id, life.head.revision)
            else:
                plan.twins.append((life, twin))
                plan.written.counts["deduplicated"] += 1

    async def _passed(self, asked: list[Said]) -> set[Said | None]:
        rows_there = await self._connection.fetch(_PASSED_WORDS, *rows.columns(asked, 3)) if asked else []
        return {asked[row["place"] - 1] for row in rows_there}

    async def _twins(self, asked: list[Said]) -> dict[Said, Twin]:
        """Who says these already; locked, so that an attestation meets a memory that stays. Expired ones give way."""
        if not asked:
            return {}
        columns = rows.columns(asked, 3)
        found = await self._connection.fetch(_LIVE_TWINS, *columns)
        if found and not self._dry_run:
            keys = {(asked[row["place"] - 1][0], row["memory_id"]): row["expired"] for row in found}
            locked = await self._connection.fetch(_LOCK_TWINS, *rows.columns(sorted(keys), 2))
            again = await self._connection.fetch(_LIVE_TWINS, *columns)
            if len(locked) != len(keys) or again != found:
                raise races.Raced
            expired = sorted(key for key, is_expired in keys.items() if is_expired)
            if expired:
                await self._connection.execute(_EXPIRE, *rows.columns(expired, 2))
        standing = [row for row in found if not row["expired"]]
        return {asked[row["place"] - 1]: (row["memory_id"], row["revision_no"]) for row in standing}

    def remember(self, plan: Plan, now: datetime) -> None:
        """What a dry run would have written, so that it tells the doubles inside of what it reads."""
        for life in plan.born:
            self._seen.add(life.key)
            said = _said(life, now)
            if said is not None:
                self._seen_contents[said] = (life.memory_id, life.head.revision)
        self._seen.update(life.key for life, _ in plan.twins if life.keeps)


def _successor(life: Life) -> tuple[UUID, UUID]:
    assert life.superseded_by is not None
    return life.project_id, life.superseded_by


def _said(life: Life, now: datetime) -> Said | None:
    """What a life would say in the search tables; None when it would not stand there."""
    words = life.head.words
    return (life.project_id, life.scope_key, words.content_hash) if words is not None and life.is_live(now) else None
