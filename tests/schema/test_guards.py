"""What is allowed beside the forbidden, and that no setting opens the way to it: only the role memhub_operator does."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.schema.world import filled

_IMPORT = """
INSERT INTO memhub.memories (project_id, id, created_at) VALUES ($here, $new, '2024-05-01Z');
INSERT INTO memhub.memory_revisions (
    project_id, memory_id, revision_no, origin, content, content_hash, document, type, author_client, author_kind,
    valid_from)
VALUES ($here, $new, 1, 'import', 'old words', sha256('old words'), 'old', 'FACT', 'c', 'import', '2024-05-01Z');
SET CONSTRAINTS ALL IMMEDIATE;
"""

_OWN_CLOCK = """
CREATE SCHEMA liar;
GRANT USAGE ON SCHEMA liar TO PUBLIC;
CREATE FUNCTION liar.now() RETURNS timestamptz LANGUAGE sql AS $$$$SELECT timestamptz '2000-01-01'$$$$;
CREATE FUNCTION liar.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$$$SELECT timestamptz '2100-01-01'$$$$;
CREATE FUNCTION liar.earlier(timestamptz, timestamptz) RETURNS boolean LANGUAGE sql AS 'SELECT true';
CREATE OPERATOR liar.>= (LEFTARG = timestamptz, RIGHTARG = timestamptz, FUNCTION = liar.earlier);
CREATE OPERATOR liar.<= (LEFTARG = timestamptz, RIGHTARG = timestamptz, FUNCTION = liar.earlier);
"""


@pytest.fixture
def session(owner: psycopg.Connection) -> Iterator[psycopg.Connection]:
    """The owner's session in a transaction that is undone."""
    with owner.transaction(force_rollback=True):
        yield owner


@pytest.mark.parametrize(
    "setting",
    [
        "SET LOCAL memhub.role = 'memhub_operator'",
        "SET LOCAL memhub.import = 'on'",
        "SET LOCAL role = 'memhub_server'",
        "SET LOCAL session_authorization = 'memhub_server'",
        "SET LOCAL search_path = liar, pg_catalog",
    ],
)
def test_no_setting_opens_the_way_for_times_from_outside(session: psycopg.Connection, setting: str) -> None:
    # The last one passes without the `SET search_path` of memhub.guard_memory and memhub.guard_revision, or where
    # memhub.time_holds names its clock or its operators without their schema.
    session.execute(filled(_OWN_CLOCK))
    session.execute("SET LOCAL ROLE memhub_server")
    session.execute(setting)

    with pytest.raises(psycopg.errors.IntegrityConstraintViolation, match="time that is not of this transaction"):
        session.execute(filled(_IMPORT))


def test_a_server_cannot_switch_the_triggers_off_for_its_session(session: psycopg.Connection) -> None:
    session.execute("SET LOCAL ROLE memhub_server")

    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        session.execute("SET session_replication_role = replica")


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE memhub.memories DISABLE TRIGGER ALL",
        "ALTER TABLE memhub.live_memories DROP CONSTRAINT live_memories_is_active",
        "DROP TRIGGER memory_revisions_stay ON memhub.memory_revisions",
        "DROP TABLE memhub.audit_events",
        "CREATE TABLE memhub.mine ()",
        "CREATE OR REPLACE FUNCTION memhub.guard_memory() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
    ],
)
def test_a_server_cannot_alter_the_schema(session: psycopg.Connection, change: str) -> None:
    session.execute("SET LOCAL ROLE memhub_server")

    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        session.execute(change)


def test_a_login_that_is_a_server_only_cannot_become_the_operator(session: psycopg.Connection) -> None:
    session.execute("CREATE ROLE app LOGIN; GRANT memhub_server TO app; SET LOCAL SESSION AUTHORIZATION app")
    session.execute("SET LOCAL ROLE memhub_server")

    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="memhub_operator"):
        session.execute("SET LOCAL ROLE memhub_operator")


def test_membership_in_the_operator_alone_exempts_from_nothing(session: psycopg.Connection) -> None:
    session.execute("CREATE ROLE app LOGIN; GRANT memhub_server, memhub_operator TO app")
    session.execute("SET LOCAL SESSION AUTHORIZATION app")

    with pytest.raises(psycopg.errors.IntegrityConstraintViolation, match="time that is not of this transaction"):
        session.execute(filled(_IMPORT))


def test_the_operator_writes_the_times_of_an_export(session: psycopg.Connection) -> None:
    session.execute("SET LOCAL ROLE memhub_operator")
    session.execute(filled(_IMPORT))


def test_a_task_of_thirty_days_is_written(session: psycopg.Connection) -> None:
    task = _IMPORT.replace("valid_from)", "valid_from, expires_at)").replace("'FACT'", "'TASK'")
    session.execute("SET LOCAL ROLE memhub_operator")
    session.execute(filled(task.replace("'2024-05-01Z');\nSET", "'2024-05-01Z', '2024-05-31Z');\nSET")))


def test_a_retired_vector_leaves_the_live_ones_and_is_kept(session: psycopg.Connection) -> None:
    # Fails without the trigger live_vectors_keep.
    session.execute("SET LOCAL ROLE memhub_server")
    session.execute(filled("DELETE FROM memhub.live_memories WHERE memory_id = $other"))
    live = session.execute(filled("SELECT FROM memhub.live_vectors WHERE memory_id = $other")).fetchall()
    kept = session.execute(filled("SELECT embedding::text FROM memhub.retired_vectors WHERE memory_id = $other"))

    assert live == []
    assert kept.fetchall() == [("[1,0,0]",)]


def test_vectors_of_a_model_that_is_given_up_are_not_kept(session: psycopg.Connection) -> None:
    session.execute("UPDATE memhub.embedding_models SET state = 'retired'")
    session.execute(filled("DELETE FROM memhub.live_memories WHERE memory_id = $other"))

    assert session.execute(filled("SELECT FROM memhub.retired_vectors WHERE memory_id = $other")).fetchall() == []


def test_an_expired_memory_is_not_in_the_view_that_retrieval_reads(session: psycopg.Connection) -> None:
    # Fails without the WHERE of memhub.searchable_memories.
    found = "SELECT count(*) FROM memhub.searchable_memories WHERE memory_id = $task"
    assert session.execute(filled(found)).fetchone() == (1,)
    session.execute("UPDATE memhub.live_memories SET expires_at = now(), updated_at = now() WHERE type = 'TASK'")

    assert session.execute(filled(found)).fetchone() == (0,)


def test_a_conversation_of_512_characters_is_taken_and_one_of_513_is_not(session: psycopg.Connection) -> None:
    born = (
        "INSERT INTO memhub.memories (project_id, id, conversation, created_at)"
        " VALUES ($here, $new, repeat('~', {}), now())"
    )
    session.execute(filled(born.format(512)))

    with pytest.raises(psycopg.errors.CheckViolation, match="conversation_check"):
        session.execute(filled(born.format(513).replace("$new", "$there")))


@pytest.mark.parametrize(
    "time", ["pg_catalog.now() - interval '1 hour'", "pg_catalog.clock_timestamp() + interval '1 hour'"]
)
def test_a_search_path_gives_no_check_another_clock(session: psycopg.Connection, time: str) -> None:
    # Fails where memhub.time_holds names its clock or its operators without their schema.
    session.execute(filled(_OWN_CLOCK))
    session.execute("SET LOCAL ROLE memhub_server")
    session.execute("SET LOCAL search_path = liar, pg_catalog")

    with pytest.raises(psycopg.errors.CheckViolation, match="audit_events_clock"):
        session.execute(
            filled(
                "INSERT INTO memhub.audit_events (tenant, project_id, event, client, created_at)"
                f" VALUES ('acme', $here, 'seen', 'c', {time})"
            )
        )


def test_every_function_that_is_bound_when_it_runs_pins_its_search_path(owner: psycopg.Connection) -> None:
    # All but the one that every write calls five times, which names everything with its schema.
    unpinned = owner.execute(
        "SELECT proname FROM pg_proc WHERE pronamespace = 'memhub'::regnamespace AND prosqlbody IS NULL"
        " AND NOT 'search_path=pg_catalog' = ANY (coalesce(proconfig, '{}'))"
    )

    assert unpinned.fetchall() == [("time_holds",)]
