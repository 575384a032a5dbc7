"""The writes that the invariants forbid, each with what must refuse it."""

from __future__ import annotations

from dataclasses import dataclass

NO_PRIVILEGE = "42501"
# What the operator is there for: an import writes its own times in an order of its own, a purge empties words.
IMPORTED = PURGED = ""

# A revision and a live row of these words at this number; the case adds what is wrong with it.
_REVISION = """
INSERT INTO memhub.memory_revisions (
    project_id, memory_id, revision_no, origin, content, content_hash, document, type, author_client, author_kind,
    valid_from)
VALUES ({project}, {memory}, {number}, 'revise', 'new words', sha256('new words'), 'new', 'FACT', 'c', 'agent', {at});
"""
_LIVE = """
INSERT INTO memhub.live_memories (
    project_id, memory_id, revision_no, scope_key, content_hash, document, type, tags, author_client, author_kind,
    created_at, updated_at)
VALUES ($here, {memory}, {number}, '', sha256('new words'), 'new', 'FACT', '{{}}', 'c', 'agent', now(), {at});
"""
_BIRTH = "INSERT INTO memhub.memories (project_id, id, created_at) VALUES ($here, $new, {at});"
_CLOSE = (
    "UPDATE memhub.memory_revisions SET valid_to = clock_timestamp() WHERE memory_id = $active AND revision_no = 2;"
)
_NOT_LIVE = "DELETE FROM memhub.live_memories WHERE memory_id = $active;"
_MOVE = "UPDATE memhub.memories SET revision_no = 3 WHERE id = $active;"
_VECTOR = """
INSERT INTO memhub.{table} (project_id, memory_id, revision_no, model_id, dimension, chunk_no, embedding)
VALUES ($here, {memory}, {number}, 1, 3, 1, '[1,0,0]');
"""


def _revision(number: int, *, memory: str = "$active", project: str = "$here", at: str = "clock_timestamp()") -> str:
    return _REVISION.format(project=project, memory=memory, number=number, at=at)


def _live(number: int, *, memory: str = "$active", at: str = "clock_timestamp()") -> str:
    return _LIVE.format(memory=memory, number=number, at=at)


def _vector(table: str, number: int, *, memory: str = "$active") -> str:
    return _VECTOR.format(table=table, memory=memory, number=number)


def _retire(changes: str, *, memory: str = "$active") -> str:
    """Everything that retiring asks for, with these columns of the lifecycle row."""
    return f"{_CLOSE} {_NOT_LIVE} UPDATE memhub.memories SET {changes} WHERE id = {memory};"


@dataclass(frozen=True, slots=True, kw_only=True)
class Forbidden:
    """`by` is what refuses the owner, `server` and `operator` what refuses them, where it is another."""

    invariant: int
    sentence: str
    sql: str
    by: str
    server: str | None = None
    operator: str | None = None


FORBIDDEN = [
    Forbidden(
        invariant=1,
        sentence="an active memory without an open revision",
        sql=_CLOSE,
        by="memories_head_exists",
    ),
    Forbidden(
        invariant=1,
        sentence="two open revisions of one memory",
        sql=_NOT_LIVE + _MOVE + _revision(3) + _live(3),
        by="memory_revisions_guard",
        operator="memory_revisions_open_is_head",
    ),
    Forbidden(
        invariant=1,
        sentence="an open revision of a retired memory",
        sql=_NOT_LIVE
        + "UPDATE memhub.memories SET status = 'DELETED', retired_by = 'client', retired_at = now() WHERE id = $active",
        by="memory_revisions_open_is_head",
    ),
    Forbidden(
        invariant=1,
        sentence="a head without words",
        sql=_CLOSE + _NOT_LIVE + _MOVE,
        by="memories_head_exists",
    ),
    Forbidden(
        invariant=2,
        sentence="a memory without a revision",
        sql=_BIRTH.format(at="now()"),
        by="memories_head_exists",
    ),
    Forbidden(
        invariant=2,
        sentence="a gap in the numbers",
        sql=_revision(4),
        by="memory_revisions_guard",
        operator="memory_revisions_gapless",
    ),
    Forbidden(
        invariant=2,
        sentence="a revision beyond the head, opened and closed at once",
        sql=_revision(3)
        + "UPDATE memhub.memory_revisions SET valid_to = clock_timestamp() WHERE memory_id = $active AND"
        " revision_no = 3",
        by="memory_revisions_guard",
        operator=IMPORTED,
    ),
    Forbidden(
        invariant=2,
        sentence="a revision number 0",
        sql=_revision(0),
        by="revision_number_check",
    ),
    Forbidden(
        invariant=2,
        sentence="a head that leaps",
        sql="UPDATE memhub.memories SET revision_no = 4 WHERE id = $active",
        by="memories_guard",
    ),
    Forbidden(
        invariant=3,
        sentence="a stale writer's revision over the current one",
        sql=_revision(2),
        by="memory_revisions_pkey",
    ),
    Forbidden(
        invariant=3,
        sentence="a head that goes back",
        sql="UPDATE memhub.memories SET revision_no = 1 WHERE id = $active",
        by="memories_guard",
    ),
    Forbidden(
        invariant=3,
        sentence="a revision that begins before the one before it ended",
        sql=_NOT_LIVE + _MOVE + _CLOSE + _revision(3, at="now()") + _live(3),
        by="memory_revisions_order",
        operator=IMPORTED,
    ),
    Forbidden(
        invariant=3,
        sentence="a revision that is closed again",
        sql="UPDATE memhub.memory_revisions SET valid_to = now() WHERE memory_id = $active AND revision_no = 1",
        by="memory_revisions_guard",
        operator=IMPORTED,
    ),
    Forbidden(
        invariant=3,
        sentence="a revision that is opened again",
        sql="UPDATE memhub.memory_revisions SET valid_to = NULL WHERE memory_id = $active AND revision_no = 1",
        by="memory_revisions_guard",
        operator="memory_revisions_open_is_head",
    ),
    Forbidden(
        invariant=4,
        sentence="a successor in another project",
        sql=_retire("status = 'SUPERSEDED', superseded_by = $foreign, retired_by = 'client', retired_at = now()"),
        by="memories_successor",
    ),
    Forbidden(
        invariant=4,
        sentence="a successor that is not there",
        sql=_retire("status = 'SUPERSEDED', superseded_by = $new, retired_by = 'client', retired_at = now()"),
        by="memories_successor",
    ),
    Forbidden(
        invariant=5,
        sentence="a memory that supersedes itself",
        sql=_retire("status = 'SUPERSEDED', superseded_by = $active, retired_by = 'client', retired_at = now()"),
        by="memories_not_own_successor",
    ),
    Forbidden(
        invariant=6,
        sentence="a superseded memory without a successor",
        sql=_retire("status = 'SUPERSEDED', retired_by = 'client', retired_at = now()"),
        by="memories_status_agrees",
    ),
    Forbidden(
        invariant=6,
        sentence="a forgotten memory with a successor",
        sql=_retire("status = 'DELETED', superseded_by = $other, retired_by = 'client', retired_at = now()"),
        by="memories_status_agrees",
    ),
    Forbidden(
        invariant=6,
        sentence="a forgotten memory without its time",
        sql=_retire("status = 'DELETED', retired_by = 'client'"),
        by="memories_status_agrees",
    ),
    Forbidden(
        invariant=6,
        sentence="a retired memory that nobody retired",
        sql=_retire("status = 'DELETED', retired_at = now()"),
        by="memories_status_agrees",
    ),
    Forbidden(
        invariant=6,
        sentence="an unknown status",
        sql=_retire("status = 'EXPIRED'"),
        by="status_check",
    ),
    Forbidden(
        invariant=6,
        sentence="an active memory with a successor",
        sql="UPDATE memhub.memories SET superseded_by = $other WHERE id = $active",
        by="memories_guard",
    ),
    Forbidden(
        invariant=6,
        sentence="a memory born with a successor",
        sql="INSERT INTO memhub.memories (project_id, id, superseded_by, created_at) VALUES ($here,"
        " $new, $other, now())",
        by="memories_status_agrees",
    ),
    Forbidden(
        invariant=6,
        sentence="the return of what a client superseded",
        sql="UPDATE memhub.memories SET status = 'ACTIVE', revision_no = 2, retired_at = NULL, retired_by = NULL,"
        " superseded_by = NULL WHERE id = $superseded;"
        + _revision(2, memory="$superseded")
        + _live(2, memory="$superseded"),
        by="memories_guard",
    ),
    Forbidden(
        invariant=6,
        sentence="a client's retirement that becomes a judge's",
        sql="UPDATE memhub.memories SET retired_by = 'judge' WHERE id = $superseded",
        by="memories_guard",
    ),
    Forbidden(
        invariant=6,
        sentence="another successor of a retired memory",
        sql="UPDATE memhub.memories SET superseded_by = $task WHERE id = $superseded",
        by="memories_guard",
    ),
    Forbidden(
        invariant=6,
        sentence="a later retirement of a retired memory",
        sql="UPDATE memhub.memories SET retired_at = clock_timestamp() WHERE id = $deleted",
        by="memories_guard",
    ),
    Forbidden(
        invariant=6,
        sentence="a forgotten memory that is then superseded",
        sql="UPDATE memhub.memories SET status = 'SUPERSEDED', superseded_by = $other WHERE id = $deleted",
        by="memories_guard",
    ),
    Forbidden(
        invariant=6,
        sentence="new words of a retired memory",
        sql="UPDATE memhub.memories SET revision_no = 2 WHERE id = $deleted",
        by="memories_guard",
    ),
    Forbidden(
        invariant=6,
        sentence="a return without a new revision",
        sql="UPDATE memhub.memories SET status = 'ACTIVE', retired_at = NULL, retired_by = NULL WHERE id = $deleted",
        by="memories_head_exists",
    ),
    Forbidden(
        invariant=7,
        sentence="a second write under one key",
        sql="INSERT INTO memhub.idempotency_keys (project_id, key, fingerprint, response, created_at)"
        " VALUES ($here, 'settled-key', sha256('other'), '{}', now())",
        by="idempotency_keys_pkey",
    ),
    Forbidden(
        invariant=7,
        sentence="a key without a response",
        sql="INSERT INTO memhub.idempotency_keys (project_id, key, fingerprint, created_at)"
        " VALUES ($here, 'another-key', sha256('request'), now())",
        by="idempotency_keys_answered",
    ),
    Forbidden(
        invariant=7,
        sentence="a response that is taken back",
        sql="UPDATE memhub.idempotency_keys SET response = NULL",
        by="idempotency_keys_answered",
    ),
    Forbidden(
        invariant=8,
        sentence="two live memories that say the same",
        sql="DELETE FROM memhub.live_memories WHERE memory_id IN ($active, $other);"
        + _live(2)
        + _live(1, memory="$other"),
        by="live_memories_content",
    ),
    Forbidden(
        invariant=9,
        sentence="a live row of a forgotten memory",
        sql=_live(1, memory="$deleted"),
        by="live_memories_is_active",
    ),
    Forbidden(
        invariant=9,
        sentence="a live row of a superseded memory",
        sql=_live(1, memory="$superseded"),
        by="live_memories_is_active",
    ),
    Forbidden(
        invariant=9,
        sentence="a live row of a passed revision",
        sql=_NOT_LIVE + _live(1),
        by="live_memories_is_active",
    ),
    Forbidden(
        invariant=9,
        sentence="a second live row of a memory",
        sql=_live(1),
        by="live_memories_is_active",
    ),
    Forbidden(
        invariant=9,
        sentence="a live row that says it is retired",
        sql="INSERT INTO memhub.live_memories (project_id, memory_id, revision_no, status, scope_key,"
        " content_hash, document,"
        " type, tags, author_client, author_kind, created_at, updated_at) VALUES ($here, $deleted, 1, 'DELETED', '',"
        " sha256('x'), 'x', 'FACT', '{}', 'c', 'agent', now(), now())",
        by="live_memories_status_check",
    ),
    Forbidden(
        invariant=9,
        sentence="a memory retired while its live row stands",
        sql=_CLOSE
        + "UPDATE memhub.memories SET status = 'DELETED', retired_by = 'client', retired_at = now() WHERE id = $active",
        by="live_memories_is_active",
    ),
    Forbidden(
        invariant=9,
        sentence="a memory revised while its old live row stands",
        sql=_MOVE + _CLOSE + _revision(3),
        by="live_memories_is_active",
    ),
    Forbidden(
        invariant=10,
        sentence="a revision of another project's memory",
        sql=_revision(1, project="$there"),
        by="memory_revisions_memory",
    ),
    Forbidden(
        invariant=10,
        sentence="a revision of no memory",
        sql=_revision(1, memory="$new"),
        by="memory_revisions_memory",
    ),
    Forbidden(
        invariant=10,
        sentence="a memory of no project",
        sql="INSERT INTO memhub.memories (project_id, id, created_at) VALUES ($new, $new, now())",
        by="memories_project_id_fkey",
    ),
    Forbidden(
        invariant=10,
        sentence="a memory that moves to another project",
        sql="UPDATE memhub.memories SET project_id = $there WHERE id = $active",
        by="memories_guard",
        server=NO_PRIVILEGE,
        operator=NO_PRIVILEGE,
    ),
    Forbidden(
        invariant=10,
        sentence="a revision that moves to another project",
        sql="UPDATE memhub.memory_revisions SET project_id = $there WHERE memory_id = $active",
        by="memory_revisions_guard",
        server=NO_PRIVILEGE,
        operator=NO_PRIVILEGE,
    ),
    Forbidden(
        invariant=10,
        sentence="a memory that leaves its conversation",
        sql="UPDATE memhub.memories SET conversation = NULL WHERE id = $private",
        by="memories_guard",
        server=NO_PRIVILEGE,
        operator=NO_PRIVILEGE,
    ),
    Forbidden(
        invariant=10,
        sentence="an attestation in another project",
        sql="INSERT INTO memhub.attestations (project_id, memory_id, revision_no, author_client,"
        " author_kind, type, created_at)"
        " VALUES ($there, $active, 1, 'c', 'agent', 'FACT', now())",
        by="attestations_project_id_memory_id_revision_no_fkey",
    ),
    Forbidden(
        invariant=10,
        sentence="an audit event of another tenant",
        sql="INSERT INTO memhub.audit_events (tenant, project_id, event, client, created_at)"
        " VALUES ('other', $here, 'lied', 'c', now())",
        by="audit_events_project_id_tenant_fkey",
    ),
    Forbidden(
        invariant=10,
        sentence="an alias of another tenant",
        sql="INSERT INTO memhub.project_aliases (tenant, kind, value, project_id, created_at)"
        " VALUES ('other', 'git_remote', 'x', $here, now())",
        by="project_aliases_project_id_tenant_fkey",
    ),
    Forbidden(
        invariant=11,
        sentence="a TASK without an end",
        sql=_revision(1, memory="$new").replace("'FACT'", "'TASK'"),
        by="memory_revisions_task_expires",
    ),
    Forbidden(
        invariant=11,
        sentence="a TASK of 31 days",
        sql=_revision(1, memory="$new")
        .replace("valid_from)", "valid_from, expires_at)")
        .replace("'FACT'", "'TASK'")
        .replace("clock_timestamp());", "clock_timestamp(), now() + interval '31 days');"),
        by="memory_revisions_task_expires",
    ),
    Forbidden(
        invariant=11,
        sentence="a live TASK without an end",
        sql="DELETE FROM memhub.live_memories WHERE memory_id = $task;"
        + _live(1, memory="$task").replace("FACT", "TASK"),
        by="live_memories_task_expires",
    ),
    Forbidden(
        invariant=12,
        sentence="words that are rewritten",
        sql="UPDATE memhub.memory_revisions SET content = 'other words' WHERE memory_id = $active",
        by="memory_revisions_guard",
        server=NO_PRIVILEGE,
    ),
    Forbidden(
        invariant=12,
        sentence="words that are emptied",
        sql="UPDATE memhub.memory_revisions SET content = NULL, content_hash = NULL, document = NULL,"
        " purged_at = now() WHERE memory_id = $deleted",
        by="memory_revisions_guard",
        server=NO_PRIVILEGE,
        operator=PURGED,
    ),
    Forbidden(
        invariant=12,
        sentence="words that are emptied while they are said",
        sql="UPDATE memhub.memory_revisions SET content = NULL, content_hash = NULL, document = NULL,"
        " purged_at = now() WHERE memory_id = $active",
        by="memory_revisions_guard",
        server=NO_PRIVILEGE,
        operator="memory_revisions_content_or_purged",
    ),
    Forbidden(
        invariant=12,
        sentence="words that are gone without a purge",
        sql="UPDATE memhub.memory_revisions SET content = NULL",
        by="memory_revisions_guard",
        server=NO_PRIVILEGE,
        operator="memory_revisions_content_or_purged",
    ),
    Forbidden(
        invariant=12,
        sentence="words that are closed and changed at once",
        sql="UPDATE memhub.memory_revisions SET valid_to = now(), type = 'DECISION' WHERE memory_id ="
        " $active AND revision_no = 2",
        by="memory_revisions_guard",
        server=NO_PRIVILEGE,
        operator=NO_PRIVILEGE,
    ),
    Forbidden(
        invariant=12,
        sentence="words overwritten by an upsert",
        sql=_revision(2).replace(";", "")
        + "ON CONFLICT (project_id, memory_id, revision_no) DO UPDATE SET content = excluded.content",
        by="memory_revisions_guard",
        server=NO_PRIVILEGE,
    ),
    Forbidden(
        invariant=12,
        sentence="a revision born purged",
        sql="INSERT INTO memhub.memory_revisions (project_id, memory_id, revision_no, origin, type,"
        " author_client, author_kind,"
        " valid_from, purged_at) VALUES ($here, $new, 1, 'remember', 'FACT', 'c', 'agent', now(), now())",
        by="memory_revisions_guard",
        operator="memory_revisions_content_or_purged",
    ),
    Forbidden(
        invariant=12,
        sentence="a deleted project",
        sql="DELETE FROM memhub.projects WHERE id = $there",
        by="memories_project_id_fkey",
        server=NO_PRIVILEGE,
        operator=NO_PRIVILEGE,
    ),
    Forbidden(
        invariant=12,
        sentence="projects truncated with all that hangs on them",
        sql="TRUNCATE memhub.projects CASCADE",
        by="memories_stay",
        server=NO_PRIVILEGE,
        operator=NO_PRIVILEGE,
    ),
    Forbidden(
        invariant=12,
        sentence="an audit event that is rewritten",
        sql="UPDATE memhub.audit_events SET client = 'somebody else'",
        by="audit_events_guard",
        server=NO_PRIVILEGE,
        operator=NO_PRIVILEGE,
    ),
    Forbidden(
        invariant=12,
        sentence="audit details that are rewritten",
        sql="""UPDATE memhub.audit_events SET details = '{"x": 1}'""",
        by="audit_events_guard",
        server=NO_PRIVILEGE,
        operator=PURGED,
    ),
    *(
        Forbidden(
            invariant=12,
            sentence=f"audit details that are {what}",
            sql="INSERT INTO memhub.audit_events (tenant, project_id, event, client, details, created_at)"
            f" VALUES ('acme', $here, 'seen', 'c', '{details}', clock_timestamp())",
            by="event_details_check",
        )
        for what, details in (("a text", '"a"'), ("a list", "[]"), ("null", "null"))
    ),
    Forbidden(
        invariant=12,
        sentence="an attestation that is rewritten",
        sql="UPDATE memhub.attestations SET author_client = 'somebody else'",
        by="attestations_guard",
        server=NO_PRIVILEGE,
        operator=NO_PRIVILEGE,
    ),
    *(
        Forbidden(
            invariant=12,
            sentence=f"{verb.split()[0].lower()} of {table}",
            sql=f"{verb} memhub.{table}{' CASCADE' if verb == 'TRUNCATE' else ''}",
            by=f"{'memories' if (verb, table) == ('TRUNCATE', 'memories') else table}_stay",
            server=NO_PRIVILEGE,
            operator=NO_PRIVILEGE,
        )
        for verb in ("DELETE FROM", "TRUNCATE")
        for table in ("memories", "memory_revisions", "attestations", "audit_events")
    ),
    Forbidden(
        invariant=13,
        sentence="a live vector of a passed revision",
        sql=_vector("live_vectors", 1),
        by="live_vectors_project_id_memory_id_revision_no_fkey",
    ),
    Forbidden(
        invariant=13,
        sentence="a live vector of a forgotten memory",
        sql=_vector("live_vectors", 1, memory="$deleted"),
        by="live_vectors_project_id_memory_id_revision_no_fkey",
    ),
    Forbidden(
        invariant=13,
        sentence="a retired vector of no revision",
        sql=_vector("retired_vectors", 3),
        by="retired_vectors_project_id_memory_id_revision_no_fkey",
    ),
    Forbidden(
        invariant=13,
        sentence="a vector of another length than its model's",
        sql=_vector("live_vectors", 2).replace("[1,0,0]", "[1,0]"),
        by="live_vectors_check",
    ),
    Forbidden(
        invariant=13,
        sentence="a vector of no model",
        sql=_vector("live_vectors", 2).replace("1, 3, 1,", "9, 3, 1,"),
        by="live_vectors_model_id_dimension_fkey",
    ),
    Forbidden(
        invariant=13,
        sentence="a vector of the past of a model in use taken away",
        sql=_vector("retired_vectors", 1) + "DELETE FROM memhub.retired_vectors WHERE memory_id = $active",
        by="retired_vectors_guard",
        operator=PURGED,
    ),
    Forbidden(
        invariant=13,
        sentence="embedding work for no revision",
        sql="INSERT INTO memhub.embedding_work (project_id, memory_id, revision_no, model_id) VALUES"
        " ($here, $active, 3, 1)",
        by="embedding_work_project_id_memory_id_revision_no_fkey",
    ),
]

_TIMES = {
    "memories_guard": _BIRTH,
    "memory_revisions_guard": _revision(1, memory="$new", at="{at}"),
    "live_memories_clock": _NOT_LIVE + _live(2, at="{at}").replace("'{}'", "'{{}}'"),
    "attestations_clock": "INSERT INTO memhub.attestations (project_id, memory_id, revision_no,"
    " author_client, author_kind,"
    " type, created_at) VALUES ($here, $active, 1, 'c', 'agent', 'FACT', {at})",
    "audit_events_clock": "INSERT INTO memhub.audit_events (tenant, project_id, event, client, created_at)"
    " VALUES ('acme', $here, 'seen', 'c', {at})",
    "idempotency_keys_clock": "INSERT INTO memhub.idempotency_keys (project_id, key, fingerprint, response, created_at)"
    " VALUES ($here, 'another-key', sha256('request'), '{{}}', {at})",
    "projects_clock": "INSERT INTO memhub.projects (id, tenant, slug, created_at) VALUES ($new, 'acme', 'new', {at})",
    "project_aliases_clock": "INSERT INTO memhub.project_aliases (tenant, kind, value, project_id, created_at)"
    " VALUES ('acme', 'git_remote', 'x', $here, {at})",
    "embedding_models_clock": "INSERT INTO memhub.embedding_models (name, dimension, floor, state, created_at)"
    " VALUES ('new', 3, 0.3, 'building', {at})",
    "counter_deltas_clock": "INSERT INTO memhub.counter_deltas (project_id, memory_id, counter, hits, created_at)"
    " VALUES ($here, $active, 'search', 1, {at})",
}
_ENDS = {
    "memories_guard": _retire("status = 'DELETED', retired_by = 'client', retired_at = {at}"),
    "memory_revisions_guard": _CLOSE.replace("clock_timestamp()", "{at}"),
}
_FROM_OUTSIDE = {"the past": "now() - interval '1 hour'", "the future": "clock_timestamp() + interval '1 hour'"}

TIMES = [
    Forbidden(
        invariant=14,
        sentence=f"{by}, {kind} in {when}",
        sql=sql.format(at=at),
        by=by,
    )
    for kind, table in (("begin", _TIMES), ("end", _ENDS))
    for by, sql in table.items()
    for when, at in _FROM_OUTSIDE.items()
]
