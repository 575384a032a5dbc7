"""The checker finds what constraints did not: each of its rules on a database whose guards were taken away."""

from __future__ import annotations

import asyncio

import asyncpg
import psycopg
import pytest

from shared import checker
from tests.schema import world
from tests.schema.world import filled

_GUARDS = next(rule.statement for rule in checker.CHECKS if rule.name == "guards_stand")
_LIVE = "UPDATE memhub.live_memories SET"
_REVISION = "UPDATE memhub.memory_revisions SET"
_MEMORY = "UPDATE memhub.memories SET"

# What is done to the world behind the back of its triggers and foreign keys, and the rules that must notice.
# One rule may notice more than one harm; every rule of the checker is named here at least once.
HARMS = {
    f"{_REVISION} valid_to = now() WHERE memory_id = $other": {"one_current_revision"},
    f"{_REVISION} valid_to = NULL WHERE memory_id = $deleted": {"one_current_revision", "status_agrees"},
    "DELETE FROM memhub.memory_revisions WHERE memory_id = $active AND revision_no = 1": {
        "gapless_revisions",
        "events_have_their_revision",
        "attestations_of_a_revision",
        "embedding_work_has_its_revision",
        "retired_vectors_have_a_passed_revision",
        "keys_are_answered",
    },
    f"{_REVISION} valid_to = valid_to + interval '1 microsecond' WHERE memory_id = $active AND revision_no = 1": {
        "revisions_follow_each_other"
    },
    f"{_MEMORY} superseded_by = $foreign WHERE id = $superseded": {"successor_in_project"},
    f"{_MEMORY} superseded_by = $judged WHERE id = $superseded; {_MEMORY} superseded_by = $superseded"
    f" WHERE id = $judged": {"supersession_ends"},
    f"{_MEMORY} superseded_by = $superseded WHERE id = $superseded": {"supersession_ends"},
    f"{_MEMORY} superseded_by = NULL WHERE id = $superseded": {"status_agrees"},
    f"{_MEMORY} retired_at = now() WHERE id = $deleted": {"status_agrees"},
    "INSERT INTO memhub.idempotency_keys SELECT * FROM memhub.idempotency_keys": {"one_write_per_key"},
    "UPDATE memhub.idempotency_keys SET response = NULL": {"keys_are_answered"},
    """UPDATE memhub.idempotency_keys SET response = '{"memory_id": "no uuid", "revision": 1.5}'""": {
        "keys_are_answered"
    },
    f"{_REVISION} content_hash = sha256('the second words') WHERE memory_id = $other;"
    f"{_LIVE} content_hash = sha256('the second words') WHERE memory_id = $other": {
        "one_live_memory_per_content",
        "one_live_row_per_content",
    },
    f"{_MEMORY} status = 'DELETED', retired_by = 'client', retired_at = now() WHERE id = $other;"
    f"{_REVISION} valid_to = now() WHERE memory_id = $other": {"live_rows_are_current"},
    "DELETE FROM memhub.live_memories WHERE memory_id = $other": {
        "live_rows_are_there",
        "live_vectors_have_their_live_row",
    },
    **{
        f"{_LIVE} {change} WHERE memory_id = $other": {"live_rows_equal_their_revisions"}
        for change in (
            "scope_key = 'talk-1'",
            "content_hash = sha256('x')",
            "document = 'x'",
            "type = 'DECISION'",
            "tags = '{x}'",
            "importance = 1",
            "expires_at = now() + interval '1 day'",
            "author_client = 'x'",
            "author_kind = 'import'",
            "created_at = now()",
            "updated_at = now()",
        )
    },
    "CREATE OR REPLACE VIEW memhub.searchable_memories AS SELECT project_id, memory_id, revision_no,"
    " scope_key, content_hash,"
    " document, type, tags, importance, expires_at, author_client, author_kind, created_at, updated_at"
    " FROM memhub.live_memories;"
    f"{_REVISION} expires_at = now() WHERE memory_id = $other; {_LIVE} expires_at = now() WHERE memory_id = $other": {
        "view_hides_expired"
    },
    "DELETE FROM memhub.memories WHERE id = $private": {"revisions_of_a_memory", "live_rows_are_current"},
    "DELETE FROM memhub.projects WHERE slug = 'there'": {"memories_of_a_project"},
    f"{_REVISION} expires_at = NULL WHERE type = 'TASK'; {_LIVE} expires_at = NULL WHERE type = 'TASK'": {
        "tasks_expire"
    },
    f"{_REVISION} content = NULL WHERE memory_id = $deleted": {"content_is_kept"},
    "GRANT DELETE ON memhub.memory_revisions TO memhub_server": {"server_cannot_destroy"},
    "GRANT UPDATE (content) ON memhub.memory_revisions TO memhub_server": {"server_cannot_destroy"},
    "DROP TRIGGER memory_revisions_stay ON memhub.memory_revisions": {"guards_stand"},
    "ALTER TABLE memhub.memories DISABLE TRIGGER memories_guard": {"guards_stand"},
    "ALTER TABLE memhub.live_memories DISABLE TRIGGER ALL": {"guards_stand"},
    "INSERT INTO memhub.retired_vectors (project_id, memory_id, revision_no, model_id, dimension, chunk_no, embedding)"
    " SELECT project_id, memory_id, revision_no, model_id, dimension, chunk_no, embedding FROM memhub.live_vectors"
    " WHERE memory_id = $active": {"retired_vectors_have_a_passed_revision"},
    "UPDATE memhub.live_vectors SET embedding = '[1,0]', dimension = 2 WHERE memory_id = $other": {
        "vectors_fit_their_model"
    },
    "UPDATE memhub.audit_events SET created_at = '2200-01-01' WHERE memory_id = $other": {"nothing_is_from_the_future"},
    f"{_MEMORY} created_at = '-infinity' WHERE id = $deleted;"
    f"{_REVISION} valid_from = '-infinity' WHERE memory_id = $deleted": {"times_are_finite"},
    "UPDATE memhub.audit_events SET created_at = '-infinity' WHERE memory_id = $other": {"times_are_finite"},
    "UPDATE memhub.projects SET created_at = '-infinity' WHERE slug = 'there'": {"times_are_finite"},
    "INSERT INTO memhub.project_aliases (tenant, kind, value, project_id, created_at)"
    " SELECT tenant, 'git_remote', 'x', id, '-infinity' FROM memhub.projects": {"times_are_finite"},
    f"{_MEMORY} created_at = '2020-01-01' WHERE id = $deleted": {"lives_begin_with_their_words"},
}


def _found(owner: psycopg.Connection, harm: str) -> list[checker.Violation]:
    """What the checker's statements find after the harm, which is undone."""
    with owner.transaction(force_rollback=True):
        owner.execute(
            "ALTER TABLE memhub.memories DROP CONSTRAINT memories_status_agrees, DROP CONSTRAINT"
            " memories_not_own_successor;"
            "ALTER TABLE memhub.memory_revisions DROP CONSTRAINT memory_revisions_task_expires,"
            " DROP CONSTRAINT memory_revisions_content_or_purged;"
            "ALTER TABLE memhub.live_memories DROP CONSTRAINT live_memories_content,"
            " DROP CONSTRAINT live_memories_task_expires, DROP CONSTRAINT live_memories_clock;"
            "ALTER TABLE memhub.idempotency_keys DROP CONSTRAINT idempotency_keys_pkey;"
            "ALTER TABLE memhub.audit_events DROP CONSTRAINT audit_events_clock;"
            "SET LOCAL session_replication_role = replica"
        )
        owner.execute(filled(harm))
        # Without these clocks guards_stand would find every harm.
        owner.execute(
            "ALTER TABLE memhub.live_memories ADD CONSTRAINT live_memories_clock"
            " CHECK (memhub.time_holds(updated_at)) NOT VALID;"
            "ALTER TABLE memhub.audit_events ADD CONSTRAINT audit_events_clock"
            " CHECK (memhub.time_holds(created_at)) NOT VALID"
        )
        return [
            checker.Violation(rule.invariant, rule.name, row[0])
            for rule in checker.CHECKS
            for row in owner.execute(rule.statement.replace("$1::int", "20"))
        ]


@pytest.mark.parametrize("harm", HARMS)
def test_a_harm_is_found_by_its_rules_and_by_no_other(owner: psycopg.Connection, harm: str) -> None:
    assert {violation.name for violation in _found(owner, harm)} == HARMS[harm]


def test_a_violation_names_the_rows(owner: psycopg.Connection) -> None:
    (violation,) = _found(owner, f"{_REVISION} content = NULL WHERE memory_id = $deleted")

    assert (violation.invariant, violation.name) == (12, "content_is_kept")
    assert str(world.IDS["deleted"]) in violation.detail
    assert str(world.IDS["here"]) in violation.detail


def test_every_rule_has_a_harm_that_it_finds() -> None:
    assert {rule.name for rule in checker.CHECKS} == set().union(*HARMS.values())
    assert {rule.invariant for rule in checker.CHECKS} == set(range(1, 15))


def test_every_trigger_and_every_clock_of_the_schema_is_missed_when_it_is_off(owner: psycopg.Connection) -> None:
    # Fails where a migration adds a trigger, or a CHECK of the clock, that `guards_stand` does not name.
    triggers = owner.execute(
        "SELECT relation.relname, guard.tgname FROM pg_trigger AS guard"
        " JOIN pg_class AS relation ON relation.oid = guard.tgrelid"
        " WHERE relation.relnamespace = 'memhub'::regnamespace AND NOT guard.tgisinternal"
    ).fetchall()
    clocks = owner.execute(
        "SELECT relation.relname, held.conname FROM pg_constraint AS held"
        " JOIN pg_class AS relation ON relation.oid = held.conrelid"
        " WHERE held.connamespace = 'memhub'::regnamespace AND held.contype = 'c'"
        " AND pg_get_constraintdef(held.oid) LIKE '%time_holds%'"
    ).fetchall()
    assert (len(triggers), len(clocks)) >= (18, 4)
    off = {
        **{name: f"ALTER TABLE memhub.{table} DISABLE TRIGGER {name}" for table, name in triggers},
        **{name: f"ALTER TABLE memhub.{table} DROP CONSTRAINT {name}" for table, name in clocks},
    }
    for name, switched_off in off.items():
        with owner.transaction(force_rollback=True):
            owner.execute(switched_off)
            missed = owner.execute(_GUARDS.replace("$1::int", "20")).fetchall()
        assert [name in detail for (detail,) in missed] == [True], name


async def test_a_sound_database_has_no_violations(connection: asyncpg.Connection) -> None:
    assert await checker.check(connection) == []
    await connection.execute(world.script())

    assert await checker.check(connection) == []


async def test_a_server_may_check(connection: asyncpg.Connection) -> None:
    await connection.execute(world.script())
    await connection.execute("SET ROLE memhub_server")

    assert await checker.check(connection) == []


async def test_the_list_is_bounded(connection: asyncpg.Connection) -> None:
    await connection.execute(
        "SET session_replication_role = replica;"
        "INSERT INTO memhub.memories (project_id, id, created_at)"
        " SELECT gen_random_uuid(), gen_random_uuid(), now() FROM generate_series(1, 50)"
    )
    found = await checker.check(connection)
    counts = {name: sum(violation.name == name for violation in found) for name in {each.name for each in found}}

    assert counts["memories_of_a_project"] == checker.VIOLATIONS_PER_CHECK_MAX
    assert max(counts.values()) == checker.VIOLATIONS_PER_CHECK_MAX


async def test_a_check_waits_for_no_writer(connection: asyncpg.Connection, database_url: str) -> None:
    await connection.execute(world.script())
    writer = await asyncpg.connect(database_url)
    transaction = writer.transaction()
    await transaction.start()
    await writer.execute(filled("UPDATE memhub.memories SET revision_no = 3 WHERE id = $active"))

    async with asyncio.timeout(10):
        assert await checker.check(connection) == []
    await transaction.rollback()
    await writer.close()
