-- name: found
-- What there is of these memories, in every project that has one of these ids, and how the last words begin.
-- $1 memories uuid[]
SELECT memory.project_id, project.slug, memory.id, memory.status, memory.created_at,
       (SELECT count(*) FROM memhub.memory_revisions AS revision
        WHERE revision.project_id = memory.project_id AND revision.memory_id = memory.id) AS revisions,
       (SELECT count(content) FROM memhub.memory_revisions AS revision
        WHERE revision.project_id = memory.project_id AND revision.memory_id = memory.id) AS contents,
       (SELECT coalesce(sum(octet_length(content)), 0) FROM memhub.memory_revisions AS revision
        WHERE revision.project_id = memory.project_id AND revision.memory_id = memory.id) AS content_bytes,
       (SELECT count(*) FROM memhub.attestations AS said
        WHERE said.project_id = memory.project_id AND said.memory_id = memory.id) AS attestations,
       (SELECT count(*) FROM memhub.live_vectors AS vector
        WHERE vector.project_id = memory.project_id AND vector.memory_id = memory.id)
       + (SELECT count(*) FROM memhub.retired_vectors AS vector
          WHERE vector.project_id = memory.project_id AND vector.memory_id = memory.id) AS vectors,
       (SELECT count(*) FROM memhub.idempotency_keys AS kept
        WHERE kept.project_id = memory.project_id AND kept.response->>'memory_id' = memory.id::text) AS responses,
       (SELECT left(content, 200) FROM memhub.memory_revisions AS revision
        WHERE revision.project_id = memory.project_id AND revision.memory_id = memory.id
            AND revision.revision_no = memory.revision_no) AS beginning
FROM memhub.projects AS project
JOIN memhub.memories AS memory ON memory.project_id = project.id AND memory.id = ANY ($1::uuid[])
ORDER BY project.tenant, project.slug, memory.id;

-- name: also_said
-- Other memories that say, or said, the same as these: they are not touched.
-- $1 memories uuid[], $2 limit int
SELECT DISTINCT other.memory_id
FROM memhub.memory_revisions AS purged
JOIN memhub.memory_revisions AS other ON other.content_hash = purged.content_hash
WHERE purged.memory_id = ANY ($1::uuid[]) AND other.memory_id <> ALL ($1)
ORDER BY other.memory_id
LIMIT $2::int;

-- name: lock_counts
-- The lock of frequencies.sql, waited for: what a counter read before the words are gone it would write after. Before any
-- row is locked: a counter that is at work needs none of the memories.
-- $1 memories uuid[]
SELECT pg_advisory_xact_lock(hashtextextended('memhub.term_frequencies ' || project_id::text, 0))::text AS held
FROM (SELECT DISTINCT project_id FROM memhub.memories WHERE id = ANY ($1::uuid[]) ORDER BY project_id) AS project;

-- name: lock
-- By project and id, like every writer. $1 memories uuid[]
SELECT id FROM memhub.memories WHERE id = ANY ($1::uuid[]) ORDER BY project_id, id FOR UPDATE;

-- name: retire
-- What is ACTIVE is forgotten: nothing is left of it that could be found. $1 memories uuid[]
WITH retired AS (
    UPDATE memhub.memories SET status = 'DELETED', retired_at = clock_timestamp(), retired_by = 'client'
    WHERE id = ANY ($1::uuid[]) AND status = 'ACTIVE'
    RETURNING project_id, id, revision_no, retired_at
)
UPDATE memhub.memory_revisions AS revision SET valid_to = retired.retired_at
FROM retired
WHERE revision.project_id = retired.project_id AND revision.memory_id = retired.id
    AND revision.revision_no = retired.revision_no;

-- name: hide
-- Its live vectors go along, and a trigger copies them to retired_vectors: those go next. $1 memories uuid[]
DELETE FROM memhub.live_memories WHERE memory_id = ANY ($1::uuid[]);

-- name: drop_vectors
-- $1 memories uuid[]
DELETE FROM memhub.retired_vectors WHERE memory_id = ANY ($1::uuid[]);

-- name: drop_terms
-- The words that no live memory of the whole project holds any more, as they are counted. While the documents are there, and after `hide`.
-- $1 memories uuid[]
DELETE FROM memhub.term_frequencies AS frequency
USING (SELECT DISTINCT revision.project_id, lexeme
       FROM memhub.memory_revisions AS revision CROSS JOIN LATERAL unnest(tsvector_to_array(revision.document)) AS lexeme
       WHERE revision.memory_id = ANY ($1::uuid[])) AS held
WHERE frequency.project_id = held.project_id AND frequency.lexeme = held.lexeme
    AND NOT EXISTS (
        SELECT FROM memhub.live_memories AS live
        WHERE live.project_id = held.project_id AND live.scope_key = ''
            AND live.document @@ array_to_tsvector(ARRAY[held.lexeme])::text::tsquery);

-- name: drop_work
-- $1 memories uuid[]
DELETE FROM memhub.embedding_work WHERE memory_id = ANY ($1::uuid[]);

-- name: drop_totals
-- $1 memories uuid[]
DELETE FROM memhub.memory_counters WHERE memory_id = ANY ($1::uuid[]);

-- name: drop_deltas
-- $1 memories uuid[]
DELETE FROM memhub.counter_deltas WHERE memory_id = ANY ($1::uuid[]);

-- name: drop_jobs
-- Their events and errors go along. A job in hand stays: it names ids only, and finds nothing to do.
-- $1 memories text[]
DELETE FROM public.procrastinate_jobs WHERE args->>'memory_id' = ANY ($1::text[]) AND status <> 'doing';

-- name: empty_attestations
-- Who said it when stays; their own words go. $1 memories uuid[]
UPDATE memhub.attestations SET category = NULL, tags = '{}', source = NULL WHERE memory_id = ANY ($1::uuid[]);

-- name: redact_events
-- Ids and times stay, so that chains can be followed; of an earlier purge, how many revisions it emptied.
-- $1 memories uuid[]
UPDATE memhub.audit_events
SET details = jsonb_build_object('redacted', true) || CASE jsonb_typeof(details) WHEN 'object' THEN coalesce((
    SELECT jsonb_object_agg(key, value) FROM jsonb_each(details)
    WHERE key IN ('supersedes', 'superseded_by', 'expires_at', 'revisions', 'redacted')), '{}') ELSE '{}' END
WHERE memory_id = ANY ($1::uuid[]) AND details <> '{}'
    AND (event <> 'purged' OR details <> jsonb_build_object('revisions', details -> 'revisions'));

-- name: seal_keys
-- The key stays claimed, under a fingerprint that no request has: a client that retries is refused and does not write
-- the content again. The old fingerprint is a hash over the content, which a guess could be held against.
-- $1 memories text[], $2 fingerprint bytea
UPDATE memhub.idempotency_keys
SET response = jsonb_build_object('memory_id', response->'memory_id', 'revision', response->'revision'),
    fingerprint = $2::bytea
WHERE response->>'memory_id' = ANY ($1::text[]);

-- name: empty_revisions
-- $1 memories uuid[]
UPDATE memhub.memory_revisions
SET content = NULL, content_hash = NULL, document = NULL, category = NULL, tags = '{}', source = NULL, reason = NULL,
    purged_at = clock_timestamp()
WHERE memory_id = ANY ($1::uuid[]) AND content IS NOT NULL;

-- name: tell
-- $1 memories uuid[] that had content, $2 client text
INSERT INTO memhub.audit_events (
    tenant, project_id, memory_id, revision_no, scope_key, event, client, details, created_at)
SELECT project.tenant, memory.project_id, memory.id, memory.revision_no, coalesce(memory.conversation, ''), 'purged',
       $2::text, jsonb_build_object('revisions', memory.revision_no), clock_timestamp()
FROM memhub.memories AS memory JOIN memhub.projects AS project ON project.id = memory.project_id
WHERE memory.id = ANY ($1::uuid[])
ORDER BY memory.id;

-- name: transaction
SELECT pg_current_xact_id()::text AS id;

-- name: older_sessions
-- Whoever may still see what was before transaction $1: VACUUM keeps it for them.
-- $1 transaction text
SELECT coalesce(nullif(session.application_name, ''), 'pid ' || session.pid) AS name
FROM pg_stat_activity AS session
WHERE session.datname = current_database() AND session.pid <> pg_backend_pid()
    AND (age(session.backend_xmin) >= age($1::text::xid8::xid) OR age(session.backend_xid) >= age($1::text::xid8::xid))
UNION ALL
SELECT 'prepared transaction ' || gid FROM pg_prepared_xacts WHERE database = current_database()
UNION ALL
SELECT 'replication slot ' || slot_name FROM pg_replication_slots WHERE xmin IS NOT NULL OR catalog_xmin IS NOT NULL
ORDER BY name;

-- name: rewritten
-- The tables whose files have held content or what is derived from it, and whether this session may rewrite them.
SELECT format('%I.%I', space.nspname, relation.relname) AS name,
       pg_has_role(session_user, relation.relowner, 'USAGE')
       OR EXISTS (SELECT FROM pg_database AS own
                  WHERE own.datname = current_database() AND pg_has_role(session_user, own.datdba, 'USAGE')) AS mine
FROM pg_class AS relation JOIN pg_namespace AS space ON space.oid = relation.relnamespace
WHERE (space.nspname = 'memhub' AND relation.relkind = 'r')
    OR (space.nspname, relation.relname) IN (('public', 'procrastinate_jobs'), ('public', 'procrastinate_events'))
ORDER BY 1;
