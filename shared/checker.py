"""Queries that verify the fourteen invariants on any database of memhub, whatever its constraints let through."""

from __future__ import annotations

from dataclasses import dataclass

import asyncpg

from shared import statements

VIOLATIONS_PER_CHECK_MAX = 20

_SQL = statements.load("checker")

_NAMES = {
    1: ("one_current_revision",),
    2: ("gapless_revisions",),
    3: ("revisions_follow_each_other",),
    4: ("successor_in_project",),
    5: ("supersession_ends",),
    6: ("status_agrees",),
    7: ("one_write_per_key", "keys_are_answered"),
    8: ("one_live_memory_per_content", "one_live_row_per_content"),
    9: ("live_rows_are_current", "live_rows_are_there", "live_rows_equal_their_revisions", "view_hides_expired"),
    10: ("revisions_of_a_memory", "memories_of_a_project", "attestations_of_a_revision"),
    11: ("tasks_expire",),
    12: ("content_is_kept", "events_have_their_revision", "server_cannot_destroy", "guards_stand"),
    13: (
        "live_vectors_have_their_live_row",
        "retired_vectors_have_a_passed_revision",
        "vectors_fit_their_model",
        "embedding_work_has_its_revision",
    ),
    14: ("nothing_is_from_the_future", "times_are_finite", "lives_begin_with_their_words"),
}


@dataclass(frozen=True, slots=True)
class Check:
    """One rule of one of the fourteen invariants, numbered as in docs/architecture.md."""

    invariant: int
    name: str
    statement: str


@dataclass(frozen=True, slots=True)
class Violation:
    """What breaks a rule; `detail` names the rows."""

    invariant: int
    name: str
    detail: str


CHECKS = tuple(Check(invariant, name, _SQL[name]) for invariant, names in _NAMES.items() for name in names)


async def check(connection: asyncpg.Connection) -> list[Violation]:
    """What breaks the invariants, at most VIOLATIONS_PER_CHECK_MAX of each rule, all seen at one instant.

    Reads only, on a connection that is in no transaction. An empty list is a sound database.
    """
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        return [violation for rule in CHECKS for violation in await _violations(connection, rule)]


async def _violations(connection: asyncpg.Connection, rule: Check) -> list[Violation]:
    rows = await connection.fetch(rule.statement, VIOLATIONS_PER_CHECK_MAX)
    return [Violation(rule.invariant, rule.name, row[0]) for row in rows]
