-- Each statement lists what breaks one rule, as text that names the rows; $1 bounds the list and is its int limit.
-- They read the tables and trust no constraint, trigger or index to have done its work: a restored dump, a disabled
-- trigger or a broken disk shows here. Set-based: all together took 5 s on 100,000 memories.

-- name: one_current_revision
-- An ACTIVE memory has one open revision, its head; a retired one has none.
WITH opened AS (
    SELECT project_id, memory_id, count(*) AS revisions, max(revision_no) AS newest
    FROM memhub.memory_revisions WHERE valid_to IS NULL
    GROUP BY project_id, memory_id
)
SELECT format('memory %s of project %s is %s at revision %s and has %s open revisions, the newest %s', memory.id,
              memory.project_id, memory.status, memory.revision_no, coalesce(opened.revisions, 0), opened.newest)
FROM memhub.memories AS memory
LEFT JOIN opened ON opened.project_id = memory.project_id AND opened.memory_id = memory.id
WHERE CASE memory.status
    WHEN 'ACTIVE' THEN (opened.revisions, opened.newest) IS DISTINCT FROM (1::bigint, memory.revision_no)
    ELSE opened.revisions IS NOT NULL END
ORDER BY memory.project_id, memory.id
LIMIT $1::int;

-- name: gapless_revisions
-- The numbers are 1, 2, … up to the head.
WITH numbered AS (
    SELECT project_id, memory_id, count(*) AS revisions, min(revision_no) AS first, max(revision_no) AS last,
           count(DISTINCT revision_no) AS numbers
    FROM memhub.memory_revisions
    GROUP BY project_id, memory_id
)
SELECT format('memory %s of project %s is at revision %s and has %s revisions from %s to %s', memory.id,
              memory.project_id, memory.revision_no, coalesce(numbered.revisions, 0), numbered.first, numbered.last)
FROM memhub.memories AS memory
LEFT JOIN numbered ON numbered.project_id = memory.project_id AND numbered.memory_id = memory.id
WHERE (numbered.first, numbered.last, numbered.revisions, numbered.numbers)
    IS DISTINCT FROM (1, memory.revision_no, memory.revision_no::bigint, memory.revision_no::bigint)
ORDER BY memory.project_id, memory.id
LIMIT $1::int;

-- name: revisions_follow_each_other
-- A revision begins when or after the one before it ended, so that no instant has two of them.
WITH followed AS (
    SELECT project_id, memory_id, revision_no, valid_from, valid_to,
           lead(valid_from) OVER (PARTITION BY project_id, memory_id ORDER BY revision_no) AS next_from
    FROM memhub.memory_revisions
)
SELECT format('revision %s of memory %s of project %s lasts from %s to %s, the next begins at %s', revision_no,
              memory_id, project_id, valid_from, coalesce(valid_to::text, 'now'), next_from)
FROM followed
WHERE valid_to < valid_from OR next_from < coalesce(valid_to, 'infinity')
ORDER BY project_id, memory_id, revision_no
LIMIT $1::int;

-- name: successor_in_project
SELECT format('memory %s of project %s is superseded by %s, which that project does not have', memory.id,
              memory.project_id, memory.superseded_by)
FROM memhub.memories AS memory
WHERE memory.superseded_by IS NOT NULL AND NOT EXISTS (
    SELECT FROM memhub.memories AS successor
    WHERE successor.project_id = memory.project_id AND successor.id = memory.superseded_by)
ORDER BY memory.project_id, memory.id
LIMIT $1::int;

-- name: supersession_ends
-- Walks from the memories that nothing supersedes down to what they replaced; each is reached once, since a memory has
-- one successor. What is never reached goes round in a circle, or leads into one.
WITH RECURSIVE ending AS (
    SELECT memory.project_id, memory.id
    FROM memhub.memories AS memory
    WHERE NOT EXISTS (
        SELECT FROM memhub.memories AS successor
        WHERE successor.project_id = memory.project_id AND successor.id = memory.superseded_by)
    UNION ALL
    SELECT memory.project_id, memory.id
    FROM ending JOIN memhub.memories AS memory
        ON memory.project_id = ending.project_id AND memory.superseded_by = ending.id
)
SELECT format('memory %s of project %s is superseded by %s and so round to itself', memory.id, memory.project_id,
              memory.superseded_by)
FROM memhub.memories AS memory
WHERE memory.superseded_by IS NOT NULL
    AND NOT EXISTS (SELECT FROM ending WHERE ending.project_id = memory.project_id AND ending.id = memory.id)
ORDER BY memory.project_id, memory.id
LIMIT $1::int;

-- name: status_agrees
-- With its own columns, and with the end of its last revision.
SELECT format('memory %s of project %s is %s: retired at %s by %s, superseded by %s, its last words end at %s',
              memory.id, memory.project_id, memory.status, memory.retired_at, memory.retired_by, memory.superseded_by,
              head.valid_to)
FROM memhub.memories AS memory
LEFT JOIN memhub.memory_revisions AS head
    ON head.project_id = memory.project_id AND head.memory_id = memory.id AND head.revision_no = memory.revision_no
WHERE CASE memory.status
    WHEN 'ACTIVE' THEN num_nonnulls(memory.retired_at, memory.retired_by, memory.superseded_by) = 0
    WHEN 'SUPERSEDED' THEN num_nulls(memory.retired_at, memory.retired_by, memory.superseded_by) = 0
        AND memory.retired_at = head.valid_to
    WHEN 'DELETED' THEN num_nulls(memory.retired_at, memory.retired_by) = 0 AND memory.superseded_by IS NULL
        AND memory.retired_at = head.valid_to
    END IS NOT TRUE
ORDER BY memory.project_id, memory.id
LIMIT $1::int;

-- name: one_write_per_key
SELECT format('key %s of project %s is written %s times', key, project_id, count(*))
FROM memhub.idempotency_keys
GROUP BY project_id, key
HAVING count(*) > 1
ORDER BY project_id, key
LIMIT $1::int;

-- name: keys_are_answered
-- A key is claimed and answered in one transaction; its answer leads to a revision that is there.
SELECT format('key %s of project %s leads to revision %s of memory %s, which is not there', claimed.key,
              claimed.project_id, claimed.response ->> 'revision', claimed.response ->> 'memory_id')
FROM memhub.idempotency_keys AS claimed
LEFT JOIN memhub.memory_revisions AS revision
    ON revision.project_id = claimed.project_id
    AND revision.memory_id = CASE WHEN pg_input_is_valid(claimed.response ->> 'memory_id', 'uuid')
                                  THEN (claimed.response ->> 'memory_id')::uuid END
    AND revision.revision_no = CASE WHEN pg_input_is_valid(claimed.response ->> 'revision', 'integer')
                                    THEN (claimed.response ->> 'revision')::int END
WHERE claimed.response IS NULL OR (claimed.response ? 'memory_id' AND revision.memory_id IS NULL)
ORDER BY claimed.project_id, claimed.key
LIMIT $1::int;

-- name: one_live_memory_per_content
-- Over the revisions, so that it holds whether or not the search projection is right. Expired twins may stand.
SELECT format('memories %s of project %s say the same %s', string_agg(memory.id::text, ', ' ORDER BY memory.id),
              memory.project_id, coalesce('in conversation ' || memory.conversation, 'to the whole project'))
FROM memhub.memories AS memory
JOIN memhub.memory_revisions AS head
    ON head.project_id = memory.project_id AND head.memory_id = memory.id AND head.revision_no = memory.revision_no
WHERE memory.status = 'ACTIVE' AND (head.expires_at IS NULL OR head.expires_at > clock_timestamp())
GROUP BY memory.project_id, memory.conversation, head.content_hash
HAVING count(*) > 1 AND head.content_hash IS NOT NULL
ORDER BY memory.project_id, min(memory.id::text)
LIMIT $1::int;

-- name: one_live_row_per_content
SELECT format('live rows of memories %s of project %s hold the same content for scope "%s"',
              string_agg(memory_id::text, ', ' ORDER BY memory_id), project_id, scope_key)
FROM memhub.live_memories
GROUP BY project_id, scope_key, content_hash
HAVING count(*) > 1
ORDER BY project_id, min(memory_id::text)
LIMIT $1::int;

-- name: live_rows_are_current
SELECT format('the live row of memory %s of project %s is %s at revision %s, the memory is %s at revision %s',
              live.memory_id, live.project_id, live.status, live.revision_no, coalesce(memory.status, 'missing'),
              memory.revision_no)
FROM memhub.live_memories AS live
LEFT JOIN memhub.memories AS memory ON memory.project_id = live.project_id AND memory.id = live.memory_id
WHERE (memory.status, live.status, memory.revision_no)
    IS DISTINCT FROM ('ACTIVE', 'ACTIVE', live.revision_no)
ORDER BY live.project_id, live.memory_id, live.revision_no
LIMIT $1::int;

-- name: live_rows_are_there
-- The clock is read after the snapshot: a row that gave way had expired by then.
SELECT format('memory %s of project %s is ACTIVE and cannot be found', memory.id, memory.project_id)
FROM memhub.memories AS memory
JOIN memhub.memory_revisions AS head
    ON head.project_id = memory.project_id AND head.memory_id = memory.id AND head.revision_no = memory.revision_no
WHERE memory.status = 'ACTIVE' AND head.content IS NOT NULL
    AND (head.expires_at IS NULL OR head.expires_at > clock_timestamp())
    AND NOT EXISTS (
        SELECT FROM memhub.live_memories AS live
        WHERE live.project_id = memory.project_id AND live.memory_id = memory.id)
ORDER BY memory.project_id, memory.id
LIMIT $1::int;

-- name: live_rows_equal_their_revisions
SELECT format('the live row of memory %s of project %s differs from revision %s in %s', live.memory_id,
              live.project_id, live.revision_no, concat_ws(', ',
    CASE WHEN live.scope_key IS DISTINCT FROM coalesce(memory.conversation, '') THEN 'scope_key' END,
    CASE WHEN live.content_hash IS DISTINCT FROM revision.content_hash THEN 'content_hash' END,
    CASE WHEN live.document IS DISTINCT FROM revision.document THEN 'document' END,
    CASE WHEN live.type IS DISTINCT FROM revision.type THEN 'type' END,
    CASE WHEN live.tags IS DISTINCT FROM revision.tags THEN 'tags' END,
    CASE WHEN live.importance IS DISTINCT FROM revision.importance THEN 'importance' END,
    CASE WHEN live.expires_at IS DISTINCT FROM revision.expires_at THEN 'expires_at' END,
    CASE WHEN live.author_client IS DISTINCT FROM revision.author_client THEN 'author_client' END,
    CASE WHEN live.author_kind IS DISTINCT FROM revision.author_kind THEN 'author_kind' END,
    CASE WHEN live.created_at IS DISTINCT FROM memory.created_at THEN 'created_at' END,
    CASE WHEN live.updated_at IS DISTINCT FROM revision.valid_from THEN 'updated_at' END))
FROM memhub.live_memories AS live
JOIN memhub.memories AS memory ON memory.project_id = live.project_id AND memory.id = live.memory_id
JOIN memhub.memory_revisions AS revision
    ON revision.project_id = live.project_id AND revision.memory_id = live.memory_id
    AND revision.revision_no = live.revision_no
WHERE (live.scope_key, live.content_hash, live.document, live.type, live.tags, live.importance, live.expires_at,
       live.author_client, live.author_kind, live.created_at, live.updated_at)
    IS DISTINCT FROM
      (coalesce(memory.conversation, ''), revision.content_hash, revision.document, revision.type, revision.tags,
       revision.importance, revision.expires_at, revision.author_client, revision.author_kind, memory.created_at,
       revision.valid_from)
ORDER BY live.project_id, live.memory_id, live.revision_no
LIMIT $1::int;

-- name: view_hides_expired
SELECT format('memory %s of project %s expired at %s and can be found', memory_id, project_id, expires_at)
FROM memhub.searchable_memories
WHERE expires_at <= now()
ORDER BY project_id, memory_id
LIMIT $1::int;

-- name: revisions_of_a_memory
SELECT format('revision %s belongs to memory %s, which project %s does not have', revision.revision_no,
              revision.memory_id, revision.project_id)
FROM memhub.memory_revisions AS revision
WHERE NOT EXISTS (
    SELECT FROM memhub.memories AS memory
    WHERE memory.project_id = revision.project_id AND memory.id = revision.memory_id)
ORDER BY revision.project_id, revision.memory_id, revision.revision_no
LIMIT $1::int;

-- name: memories_of_a_project
SELECT format('memory %s belongs to project %s, which is not there', memory.id, memory.project_id)
FROM memhub.memories AS memory
WHERE NOT EXISTS (SELECT FROM memhub.projects AS project WHERE project.id = memory.project_id)
ORDER BY memory.project_id, memory.id
LIMIT $1::int;

-- name: attestations_of_a_revision
SELECT format('attestation %s is of revision %s of memory %s, which project %s does not have', attestation.id,
              attestation.revision_no, attestation.memory_id, attestation.project_id)
FROM memhub.attestations AS attestation
WHERE NOT EXISTS (
    SELECT FROM memhub.memory_revisions AS revision
    WHERE revision.project_id = attestation.project_id AND revision.memory_id = attestation.memory_id
        AND revision.revision_no = attestation.revision_no)
ORDER BY attestation.id
LIMIT $1::int;

-- name: tasks_expire
SELECT format('revision %s of memory %s of project %s is a TASK from %s that expires at %s', revision_no, memory_id,
              project_id, valid_from, coalesce(expires_at::text, 'no time'))
FROM memhub.memory_revisions
WHERE type = 'TASK' AND (expires_at IS NULL OR expires_at - valid_from > interval '30 days')
ORDER BY project_id, memory_id, revision_no
LIMIT $1::int;

-- name: content_is_kept
-- Content is gone only where purge says so.
SELECT format('revision %s of memory %s of project %s: its content is %s, purged at %s', revision_no, memory_id,
              project_id, CASE WHEN content IS NULL THEN 'gone' ELSE 'there' END, coalesce(purged_at::text, 'no time'))
FROM memhub.memory_revisions
WHERE (content IS NULL) <> (purged_at IS NOT NULL) OR (content IS NULL) <> (content_hash IS NULL)
    OR (content IS NULL) <> (document IS NULL)
ORDER BY project_id, memory_id, revision_no
LIMIT $1::int;

-- name: events_have_their_revision
-- What was written once is there: the audit names every revision.
SELECT format('audit event %s (%s) names revision %s of memory %s of project %s, which is not there', event.id,
              event.event, event.revision_no, event.memory_id, event.project_id)
FROM memhub.audit_events AS event
WHERE event.memory_id IS NOT NULL AND event.revision_no IS NOT NULL AND NOT EXISTS (
    SELECT FROM memhub.memory_revisions AS revision
    WHERE revision.project_id = event.project_id AND revision.memory_id = event.memory_id
        AND revision.revision_no = event.revision_no)
ORDER BY event.id
LIMIT $1::int;

-- name: server_cannot_destroy
SELECT format('memhub_server may %s %s', privilege, relation)
FROM unnest(ARRAY['memories', 'memory_revisions', 'attestations', 'audit_events']) AS relation,
     unnest(ARRAY['DELETE', 'TRUNCATE', 'TRIGGER']) AS privilege
WHERE has_table_privilege('memhub_server', 'memhub.' || relation, privilege)
UNION ALL
SELECT format('memhub_server may UPDATE %s.%s', attribute.attrelid::regclass, attribute.attname)
FROM pg_attribute AS attribute
WHERE attribute.attrelid IN ('memhub.memory_revisions'::regclass, 'memhub.attestations'::regclass,
                             'memhub.audit_events'::regclass)
    AND attribute.attnum > 0 AND NOT attribute.attisdropped
    AND (attribute.attrelid, attribute.attname) <> ('memhub.memory_revisions'::regclass, 'valid_to')
    AND has_column_privilege('memhub_server', attribute.attrelid, attribute.attnum, 'UPDATE')
ORDER BY 1
LIMIT $1::int;

-- name: guards_stand
-- The triggers that hold what no constraint can, and the foreign keys: both can be switched off. And the constraints
-- that hold a time to the database's clock: what was let in without them looks like any other.
SELECT format('trigger %s of %s is %s', wanted.name, wanted.relation,
              CASE WHEN found.oid IS NULL THEN 'missing' ELSE 'disabled' END)
FROM (VALUES
    ('projects', 'projects_clock'), ('project_aliases', 'project_aliases_clock'),
    ('memories', 'memories_guard_birth'), ('memories', 'memories_guard'), ('memories', 'memories_stay'),
    ('memory_revisions', 'memory_revisions_guard_birth'), ('memory_revisions', 'memory_revisions_guard'),
    ('memory_revisions', 'memory_revisions_stay'),
    ('attestations', 'attestations_guard'), ('attestations', 'attestations_stay'),
    ('audit_events', 'audit_events_guard'), ('audit_events', 'audit_events_stay'),
    ('live_vectors', 'live_vectors_keep'), ('retired_vectors', 'retired_vectors_guard'),
    ('idempotency_keys', 'idempotency_keys_answered'), ('idempotency_keys', 'idempotency_keys_clock'),
    ('embedding_models', 'embedding_models_clock'), ('api_tokens', 'api_tokens_clock')
) AS wanted (relation, name)
LEFT JOIN pg_trigger AS found
    ON found.tgrelid = to_regclass('memhub.' || wanted.relation) AND found.tgname = wanted.name
WHERE found.oid IS NULL OR found.tgenabled NOT IN ('O', 'A')
UNION ALL
SELECT format('constraint %s of %s is missing', wanted.name, wanted.relation)
FROM (VALUES
    ('attestations', 'attestations_clock'), ('live_memories', 'live_memories_clock'),
    ('audit_events', 'audit_events_clock'), ('counter_deltas', 'counter_deltas_clock')
) AS wanted (relation, name)
LEFT JOIN pg_constraint AS found
    ON found.conrelid = to_regclass('memhub.' || wanted.relation) AND found.conname = wanted.name
WHERE found.oid IS NULL
UNION ALL
SELECT format('foreign key %s of %s is disabled', held.conname, held.conrelid::regclass)
FROM pg_constraint AS held JOIN pg_trigger AS found ON found.tgconstraint = held.oid
WHERE held.contype = 'f' AND held.connamespace = 'memhub'::regnamespace AND found.tgenabled NOT IN ('O', 'A')
ORDER BY 1
LIMIT $1::int;

-- name: live_vectors_have_their_live_row
SELECT format('live vector of model %s of revision %s of memory %s of project %s has no live row', vector.model_id,
              vector.revision_no, vector.memory_id, vector.project_id)
FROM memhub.live_vectors AS vector
WHERE NOT EXISTS (
    SELECT FROM memhub.live_memories AS live
    WHERE live.project_id = vector.project_id AND live.memory_id = vector.memory_id
        AND live.revision_no = vector.revision_no)
GROUP BY vector.project_id, vector.memory_id, vector.revision_no, vector.model_id
ORDER BY vector.project_id, vector.memory_id, vector.revision_no, vector.model_id
LIMIT $1::int;

-- name: retired_vectors_have_a_passed_revision
SELECT format('retired vector of model %s of revision %s of memory %s of project %s: the revision is %s',
              vector.model_id, vector.revision_no, vector.memory_id, vector.project_id,
              CASE WHEN revision.memory_id IS NULL THEN 'not there' ELSE 'live' END)
FROM memhub.retired_vectors AS vector
LEFT JOIN memhub.memory_revisions AS revision
    ON revision.project_id = vector.project_id AND revision.memory_id = vector.memory_id
    AND revision.revision_no = vector.revision_no
LEFT JOIN memhub.live_memories AS live
    ON live.project_id = vector.project_id AND live.memory_id = vector.memory_id
    AND live.revision_no = vector.revision_no
WHERE revision.memory_id IS NULL OR live.memory_id IS NOT NULL
GROUP BY vector.project_id, vector.memory_id, vector.revision_no, vector.model_id, revision.memory_id
ORDER BY vector.project_id, vector.memory_id, vector.revision_no, vector.model_id
LIMIT $1::int;

-- name: vectors_fit_their_model
WITH vectors AS (
    SELECT project_id, memory_id, revision_no, model_id, dimension, embedding FROM memhub.live_vectors
    UNION ALL
    SELECT project_id, memory_id, revision_no, model_id, dimension, embedding FROM memhub.retired_vectors
)
SELECT format('a vector of revision %s of memory %s of project %s is %s long, model %s makes %s', vector.revision_no,
              vector.memory_id, vector.project_id, min(vector_dims(vector.embedding)), vector.model_id,
              coalesce(model.dimension::text, 'none'))
FROM vectors AS vector
LEFT JOIN memhub.embedding_models AS model ON model.id = vector.model_id
WHERE (model.dimension, vector.dimension) IS DISTINCT FROM (vector_dims(vector.embedding), model.dimension)
GROUP BY vector.project_id, vector.memory_id, vector.revision_no, vector.model_id, model.dimension
ORDER BY vector.project_id, vector.memory_id, vector.revision_no, vector.model_id
LIMIT $1::int;

-- name: embedding_work_has_its_revision
SELECT format('embedding work of model %s is for revision %s of memory %s, which project %s does not have',
              work.model_id, work.revision_no, work.memory_id, work.project_id)
FROM memhub.embedding_work AS work
WHERE NOT EXISTS (
    SELECT FROM memhub.memory_revisions AS revision
    WHERE revision.project_id = work.project_id AND revision.memory_id = work.memory_id
        AND revision.revision_no = work.revision_no)
ORDER BY work.project_id, work.memory_id, work.revision_no, work.model_id
LIMIT $1::int;

-- name: nothing_is_from_the_future
-- No time is later than this one, which is read after the snapshot.
WITH told (what, at) AS (
    SELECT 'birth of project ' || id, created_at FROM memhub.projects WHERE created_at > clock_timestamp()
    UNION ALL
    SELECT 'birth of memory ' || id, created_at FROM memhub.memories WHERE created_at > clock_timestamp()
    UNION ALL
    SELECT 'retirement of memory ' || id, retired_at FROM memhub.memories WHERE retired_at > clock_timestamp()
    UNION ALL
    SELECT format('revision %s of memory %s', revision_no, memory_id), greatest(valid_from, valid_to, purged_at)
    FROM memhub.memory_revisions WHERE greatest(valid_from, valid_to, purged_at) > clock_timestamp()
    UNION ALL
    SELECT 'attestation ' || id, created_at FROM memhub.attestations WHERE created_at > clock_timestamp()
    UNION ALL
    SELECT 'audit event ' || id, created_at FROM memhub.audit_events WHERE created_at > clock_timestamp()
    UNION ALL
    SELECT 'idempotency key ' || key, created_at FROM memhub.idempotency_keys WHERE created_at > clock_timestamp()
    UNION ALL
    SELECT 'counter delta ' || id, created_at FROM memhub.counter_deltas WHERE created_at > clock_timestamp()
)
SELECT format('%s has the time %s, which is still to come', what, at) FROM told
ORDER BY what
LIMIT $1::int;

-- name: times_are_finite
-- An infinite time has no place in an order of times, and no program that reads an export can read it.
WITH told (what, at) AS (
    SELECT 'birth of project ' || id, created_at FROM memhub.projects WHERE NOT isfinite(created_at)
    UNION ALL
    SELECT format('alias of project %s', project_id), created_at FROM memhub.project_aliases
    WHERE NOT isfinite(created_at)
    UNION ALL
    SELECT 'birth of memory ' || id, created_at FROM memhub.memories WHERE NOT isfinite(created_at)
    UNION ALL
    SELECT 'retirement of memory ' || id, retired_at FROM memhub.memories WHERE NOT isfinite(retired_at)
    UNION ALL
    SELECT format('revision %s of memory %s', revision_no, memory_id), told.at
    FROM memhub.memory_revisions, unnest(ARRAY[valid_from, valid_to, purged_at, expires_at]) AS told (at)
    WHERE NOT isfinite(told.at)
    UNION ALL
    SELECT 'attestation ' || id, told.at FROM memhub.attestations, unnest(ARRAY[created_at, expires_at]) AS told (at)
    WHERE NOT isfinite(told.at)
    UNION ALL
    SELECT 'audit event ' || id, created_at FROM memhub.audit_events WHERE NOT isfinite(created_at)
)
SELECT format('%s has the time %s', what, at) FROM told
ORDER BY what
LIMIT $1::int;

-- name: lives_begin_with_their_words
-- A memory is as old as its first revision.
SELECT format('memory %s of project %s was born at %s, its first revision is from %s', memory.id, memory.project_id,
              memory.created_at, first.valid_from)
FROM memhub.memories AS memory
JOIN memhub.memory_revisions AS first
    ON first.project_id = memory.project_id AND first.memory_id = memory.id AND first.revision_no = 1
WHERE memory.created_at <> first.valid_from
ORDER BY memory.project_id, memory.id
LIMIT $1::int;
