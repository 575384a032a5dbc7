-- What the dashboard reads. A visitor sees one tenant ($1) and, where bound to one, one project of it ($2).

-- name: tenants
-- $1 limit int
SELECT DISTINCT tenant FROM memhub.projects ORDER BY tenant LIMIT $1::int;

-- name: slugs
-- The project that was written to last first, as in `projects`.
-- $1 tenant text, $2 project uuid, $3 limit int
SELECT project.slug
FROM memhub.projects AS project
LEFT JOIN LATERAL (
    SELECT created_at FROM memhub.live_memories
    WHERE project_id = project.id AND status = 'ACTIVE' AND scope_key = ''
    ORDER BY created_at DESC, memory_id
    LIMIT 1
) AS newest ON true
WHERE project.tenant = $1::text AND ($2::uuid IS NULL OR project.id = $2)
ORDER BY newest.created_at DESC NULLS LAST, project.slug
LIMIT $3::int;

-- name: projects
-- The tenant's projects with what they hold, without what belongs to a conversation. Each count is of an index alone, and
-- takes off what is rare: counting rows of live_memories and joining their vectors took 300 ms for 100,000 of them. The
-- status, always true, opens the index of the newest: without it all rows were read, 27 ms of 59.
-- $1 tenant text, $2 project uuid, $3 limit int
WITH model AS MATERIALIZED (
    SELECT id FROM memhub.embedding_models WHERE state = 'current'
)
SELECT project.id, project.tenant, project.slug, project.display_name, project.created_at,
       ARRAY(SELECT alias.kind || ': ' || alias.value FROM memhub.project_aliases AS alias
             WHERE alias.project_id = project.id ORDER BY alias.kind, alias.value LIMIT 20) AS aliases,
       retired.superseded, retired.forgotten, live.rows - private.rows - ended.rows AS searchable,
       vectors.rows - ended.vectors - private.vectors AS embedded, newest.created_at AS remembered_at
FROM memhub.projects AS project
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE status = 'SUPERSEDED') AS superseded,
           count(*) FILTER (WHERE status = 'DELETED') AS forgotten
    FROM memhub.memories
    WHERE project_id = project.id AND status <> 'ACTIVE' AND conversation IS NULL
) AS retired
CROSS JOIN LATERAL (
    SELECT count(*) AS rows FROM memhub.live_memories WHERE project_id = project.id
) AS live
CROSS JOIN LATERAL (
    SELECT count(*) AS rows, count(vector.memory_id) AS vectors
    FROM memhub.live_memories AS memory
    LEFT JOIN memhub.live_vectors AS vector
        ON vector.project_id = project.id AND vector.model_id = (SELECT id FROM model)
        AND vector.memory_id = memory.memory_id AND vector.revision_no = memory.revision_no AND vector.chunk_no = 0
    WHERE memory.project_id = project.id AND memory.scope_key = '' AND memory.expires_at <= now()
) AS ended
CROSS JOIN LATERAL (
    SELECT count(*) AS rows FROM memhub.live_vectors
    WHERE project_id = project.id AND model_id = (SELECT id FROM model) AND chunk_no = 0
) AS vectors
CROSS JOIN LATERAL (
    SELECT count(*) AS rows, count(vector.memory_id) AS vectors
    FROM memhub.live_memories AS memory
    LEFT JOIN memhub.live_vectors AS vector
        ON vector.project_id = project.id AND vector.model_id = (SELECT id FROM model)
        AND vector.memory_id = memory.memory_id AND vector.revision_no = memory.revision_no AND vector.chunk_no = 0
    WHERE memory.project_id = project.id AND memory.scope_key > ''
) AS private
LEFT JOIN LATERAL (
    SELECT created_at FROM memhub.live_memories
    WHERE project_id = project.id AND status = 'ACTIVE' AND scope_key = ''
    ORDER BY created_at DESC, memory_id
    LIMIT 1
) AS newest ON true
WHERE project.tenant = $1::text AND ($2::uuid IS NULL OR project.id = $2)
ORDER BY newest.created_at DESC NULLS LAST, project.slug
LIMIT $3::int;

-- name: active
-- A page of what search may find, newest first, after the row that $5 and $6 name.
-- $1 project uuid, $2 conversation text, $3 types text[], $4 tags text[], $5 created before timestamptz,
-- $6 of those created at it, ids after uuid, $7 limit int
SELECT live.memory_id, live.revision_no AS revision, 'ACTIVE' AS status, live.type, left(revision.content, 600) AS content,
       length(revision.content) > 600 AS truncated, live.tags, live.importance, live.author_client, live.expires_at,
       live.created_at AS at, live.updated_at, live.scope_key <> '' AS conversational
FROM (
    SELECT project_id, memory_id, revision_no, type, tags, importance, author_client, expires_at, created_at, updated_at,
           scope_key
    FROM memhub.searchable_memories
    WHERE project_id = $1::uuid AND scope_key IN ('', coalesce($2::text, ''))
        AND ($3::text[] IS NULL OR type = ANY ($3)) AND tags @> $4::text[]
        AND ($5::timestamptz IS NULL OR created_at < $5 OR created_at = $5 AND memory_id > $6::uuid)
    ORDER BY created_at DESC, memory_id
    LIMIT $7::int
) AS live
JOIN memhub.memory_revisions AS revision USING (project_id, memory_id, revision_no)
ORDER BY live.created_at DESC, live.memory_id;

-- name: active_count
-- Where nothing is filtered, of indexes alone: all that is live without what expired and was not reaped yet.
-- $1 project uuid, $2 conversation text, $3 types text[], $4 tags text[], $5 most int
SELECT CASE WHEN $2::text IS NULL AND $3::text[] IS NULL AND cardinality($4::text[]) = 0 THEN
    least($5::int, (SELECT count(*) FROM memhub.live_memories WHERE project_id = $1::uuid)
        - (SELECT count(*) FROM memhub.live_memories WHERE project_id = $1 AND scope_key > '')
        - (SELECT count(*) FROM memhub.live_memories
           WHERE project_id = $1 AND scope_key = '' AND expires_at <= now()))
ELSE (
    SELECT count(*) FROM (
        SELECT FROM memhub.searchable_memories
        WHERE project_id = $1 AND scope_key IN ('', coalesce($2, ''))
            AND ($3 IS NULL OR type = ANY ($3)) AND tags @> $4
        LIMIT $5) AS counted)
END;

-- name: expired
-- A page of what ended by its expiry and is neither superseded nor forgotten, the last that ended first. An open revision
-- is the head of an ACTIVE memory.
-- $1 project uuid, $2 conversation text, $3 types text[], $4 tags text[], $5 ended before timestamptz,
-- $6 of those that ended at it, ids after uuid, $7 limit int
SELECT memory.id AS memory_id, revision.revision_no AS revision, 'EXPIRED' AS status, revision.type,
       left(revision.content, 600) AS content, length(revision.content) > 600 AS truncated, revision.tags,
       revision.importance, revision.author_client, revision.expires_at, revision.expires_at AS at,
       revision.valid_from AS updated_at, memory.conversation IS NOT NULL AS conversational
FROM memhub.memories AS memory
JOIN memhub.memory_revisions AS revision
    ON revision.project_id = memory.project_id AND revision.memory_id = memory.id
    AND revision.revision_no = memory.revision_no
WHERE revision.project_id = $1::uuid AND revision.valid_to IS NULL AND revision.expires_at <= now()
    AND (memory.conversation IS NULL OR memory.conversation = $2::text)
    AND ($3::text[] IS NULL OR revision.type = ANY ($3)) AND revision.tags @> $4::text[]
    AND ($5::timestamptz IS NULL OR revision.expires_at < $5 OR revision.expires_at = $5 AND memory.id > $6::uuid)
ORDER BY revision.expires_at DESC, memory.id
LIMIT $7::int;

-- name: expired_count
-- $1 project uuid, $2 conversation text, $3 types text[], $4 tags text[], $5 most int
SELECT count(*) FROM (
    SELECT FROM memhub.memories AS memory
    JOIN memhub.memory_revisions AS revision
        ON revision.project_id = memory.project_id AND revision.memory_id = memory.id
        AND revision.revision_no = memory.revision_no
    WHERE revision.project_id = $1::uuid AND revision.valid_to IS NULL AND revision.expires_at <= now()
        AND (memory.conversation IS NULL OR memory.conversation = $2::text)
        AND ($3::text[] IS NULL OR revision.type = ANY ($3)) AND revision.tags @> $4::text[]
    LIMIT $5::int) AS counted;

-- name: retired
-- A page of what was superseded or forgotten, the last that was retired first.
-- $1 project uuid, $2 conversation text, $3 types text[], $4 tags text[], $5 retired before timestamptz,
-- $6 of those retired at it, ids after uuid, $7 limit int, $8 status text
SELECT memory.id AS memory_id, revision.revision_no AS revision, memory.status, revision.type,
       left(revision.content, 600) AS content, length(revision.content) > 600 AS truncated, revision.tags,
       revision.importance, revision.author_client, revision.expires_at, memory.retired_at AS at,
       revision.valid_from AS updated_at, memory.conversation IS NOT NULL AS conversational
FROM memhub.memories AS memory
JOIN memhub.memory_revisions AS revision
    ON revision.project_id = memory.project_id AND revision.memory_id = memory.id
    AND revision.revision_no = memory.revision_no
WHERE memory.project_id = $1::uuid AND memory.status = $8::text AND memory.status <> 'ACTIVE'
    AND (memory.conversation IS NULL OR memory.conversation = $2::text)
    AND ($3::text[] IS NULL OR revision.type = ANY ($3)) AND revision.tags @> $4::text[]
    AND ($5::timestamptz IS NULL OR memory.retired_at < $5 OR memory.retired_at = $5 AND memory.id > $6::uuid)
ORDER BY memory.retired_at DESC, memory.id
LIMIT $7::int;

-- name: retired_count
-- Of the index alone where nothing is asked of the words. $1 project uuid, $2 conversation text, $3 types text[],
-- $4 tags text[], $5 most int, $6 status text
SELECT count(*) FROM (
    SELECT FROM memhub.memories AS memory
    WHERE memory.project_id = $1::uuid AND memory.status = $6::text AND memory.status <> 'ACTIVE'
        AND (memory.conversation IS NULL OR memory.conversation = $2::text)
        AND ($3::text[] IS NULL AND cardinality($4::text[]) = 0 OR EXISTS (
            SELECT FROM memhub.memory_revisions AS revision
            WHERE revision.project_id = memory.project_id AND revision.memory_id = memory.id
                AND revision.revision_no = memory.revision_no
                AND ($3 IS NULL OR revision.type = ANY ($3)) AND revision.tags @> $4))
    LIMIT $5::int) AS counted;

-- name: locate
-- The lifecycle of a memory of this tenant, wherever it lives: its id is enough of an address.
-- $1 tenant text, $2 project uuid, $3 memory uuid, $4 conversation text
SELECT project.id AS project_id, memory.id AS memory_id, memory.status, memory.revision_no AS revision,
       memory.conversation, memory.created_at, memory.retired_at, memory.retired_by, memory.superseded_by, head.expires_at <= now() IS TRUE AS expired
FROM memhub.projects AS project
JOIN memhub.memories AS memory ON memory.project_id = project.id AND memory.id = $3::uuid
JOIN memhub.memory_revisions AS head
    ON head.project_id = memory.project_id AND head.memory_id = memory.id AND head.revision_no = memory.revision_no
WHERE project.tenant = $1::text AND ($2::uuid IS NULL OR project.id = $2)
    AND (memory.conversation IS NULL OR memory.conversation = $4::text)
ORDER BY project.id
LIMIT 1;

-- name: revisions
-- The newest revisions up to $3, newest first. $1 project uuid, $2 memory uuid, $3 revision int, $4 limit int
SELECT revision_no AS revision, origin, content, type, category, tags, importance, expires_at, author_client,
       author_conversation, author_kind, source, reason, valid_from, valid_to, purged_at
FROM memhub.memory_revisions
WHERE project_id = $1::uuid AND memory_id = $2::uuid AND revision_no <= $3::int
ORDER BY revision_no DESC
LIMIT $4::int;

-- name: usage
-- $1 project uuid, $2 memory uuid
SELECT search_hits, context_hits, history_hits, used_at
FROM memhub.memory_counters WHERE project_id = $1::uuid AND memory_id = $2::uuid;

-- name: embedding
-- $1 project uuid, $2 memory uuid, $3 revision int
SELECT model.name, model.state,
       (SELECT count(*) FROM memhub.live_vectors AS vector
        WHERE vector.project_id = $1::uuid AND vector.memory_id = $2::uuid AND vector.revision_no = $3::int
            AND vector.model_id = model.id) AS chunks,
       work.attempts, work.error
FROM memhub.embedding_models AS model
LEFT JOIN memhub.embedding_work AS work
    ON work.project_id = $1 AND work.memory_id = $2 AND work.revision_no = $3 AND work.model_id = model.id
WHERE model.state <> 'retired'
ORDER BY model.id;

-- name: chain
-- What replaced this memory, up to the newest, and what it and they replaced: steps are negative for the earlier.
-- The bounds hold even if the successors ran in a circle.
-- $1 project uuid, $2 memory uuid, $3 steps each way int, $4 limit int, $5 conversation text
WITH RECURSIVE later AS (
    SELECT id, superseded_by, 0 AS step FROM memhub.memories WHERE project_id = $1::uuid AND id = $2::uuid
    UNION ALL
    SELECT memory.id, memory.superseded_by, later.step + 1
    FROM later JOIN memhub.memories AS memory ON memory.project_id = $1 AND memory.id = later.superseded_by
    WHERE later.step < $3::int
), earlier AS (
    SELECT id, superseded_by, 0 AS step FROM memhub.memories WHERE project_id = $1 AND id = $2
    UNION ALL
    SELECT memory.id, memory.superseded_by, earlier.step - 1
    FROM earlier JOIN memhub.memories AS memory ON memory.project_id = $1 AND memory.superseded_by = earlier.id
    WHERE earlier.step > -$3
), linked AS (
    SELECT id, superseded_by, step FROM later
    UNION
    SELECT id, superseded_by, step FROM earlier
    ORDER BY step DESC, id
    LIMIT $4::int
)
SELECT memory.id AS memory_id, memory.superseded_by, linked.step, memory.status, memory.retired_at, memory.retired_by,
       head.type, head.author_client, left(head.content, 120) AS content
FROM linked
JOIN memhub.memories AS memory ON memory.project_id = $1 AND memory.id = linked.id
    AND (memory.conversation IS NULL OR memory.conversation = $5::text)
JOIN memhub.memory_revisions AS head
    ON head.project_id = $1 AND head.memory_id = memory.id AND head.revision_no = memory.revision_no
ORDER BY linked.step, memory.created_at, memory.id;

-- name: conflicts
-- What was superseded, the last first, with what stands instead and the event that tells who did it.
-- $1 project uuid, $2 retired by text, $3 retired before timestamptz, $4 of those retired at it, ids after uuid,
-- $5 limit int
SELECT gone.id AS memory_id, gone.retired_at AS at, gone.retired_by, gone.superseded_by, old.type,
       left(old.content, 400) AS content, old.author_client, kept.type AS kept_type,
       left(kept.content, 400) AS kept_content, kept.author_client AS kept_author, successor.status AS kept_status,
       event.client, event.details::text AS details, kept.reason, kept.source
FROM (
    SELECT project_id, id, retired_at, retired_by, superseded_by, revision_no
    FROM memhub.memories
    WHERE project_id = $1::uuid AND status = 'SUPERSEDED' AND conversation IS NULL
        AND ($2::text IS NULL OR retired_by = $2)
        AND ($3::timestamptz IS NULL OR retired_at < $3 OR retired_at = $3 AND id > $4::uuid)
    ORDER BY retired_at DESC, id
    LIMIT $5::int
) AS gone
JOIN memhub.memory_revisions AS old
    ON old.project_id = gone.project_id AND old.memory_id = gone.id AND old.revision_no = gone.revision_no
JOIN memhub.memories AS successor ON successor.project_id = gone.project_id AND successor.id = gone.superseded_by
JOIN memhub.memory_revisions AS kept
    ON kept.project_id = successor.project_id AND kept.memory_id = successor.id
    AND kept.revision_no = successor.revision_no
LEFT JOIN LATERAL (
    SELECT audit.client, audit.details FROM memhub.audit_events AS audit
    WHERE audit.project_id = gone.project_id AND audit.memory_id = gone.id AND audit.event = 'superseded'
    ORDER BY audit.id DESC
    LIMIT 1
) AS event ON true
ORDER BY gone.retired_at DESC, gone.id;

-- name: conflicts_count
-- $1 project uuid, $2 retired by text, $3 most int
SELECT count(*) FROM (
    SELECT FROM memhub.memories
    WHERE project_id = $1::uuid AND status = 'SUPERSEDED' AND conversation IS NULL
        AND ($2::text IS NULL OR retired_by = $2)
    LIMIT $3::int) AS counted;

-- name: activity
-- Events of each period, also where there were none, the newest last. Cut by width_bucket: date_trunc of each event took
-- 470 ms for 140,000 of them.
-- $1 tenant text, $2 project uuid, $3 hour, day, week or month text, $4 periods int
WITH period AS MATERIALIZED (
    SELECT begins, row_number() OVER (ORDER BY begins) AS place
    FROM generate_series(
        date_trunc($3::text, now(), 'UTC') - ($4::int - 1) * ('1 ' || $3)::interval,
        date_trunc($3, now(), 'UTC'), ('1 ' || $3)::interval, 'UTC') AS each (begins)
), cut AS MATERIALIZED (
    SELECT array_agg(begins ORDER BY begins) AS at, min(begins) AS first FROM period
), happened AS (
    SELECT width_bucket(event.created_at, cut.at) AS place, event.event, count(*) AS events
    FROM cut JOIN memhub.audit_events AS event ON event.created_at >= cut.first
    WHERE event.tenant = $1::text AND event.scope_key = '' AND ($2::uuid IS NULL OR event.project_id = $2)
    GROUP BY 1, 2
)
SELECT period.begins,
       coalesce(sum(events) FILTER (WHERE event = 'remembered'), 0)::bigint AS remembered,
       coalesce(sum(events) FILTER (WHERE event = 'revised'), 0)::bigint AS revised,
       coalesce(sum(events) FILTER (WHERE event = 'attested'), 0)::bigint AS attested,
       coalesce(sum(events) FILTER (WHERE event = 'restored'), 0)::bigint AS restored,
       coalesce(sum(events) FILTER (WHERE event = 'superseded'), 0)::bigint AS superseded,
       coalesce(sum(events) FILTER (WHERE event IN ('forgotten', 'expired')), 0)::bigint AS ended
FROM period LEFT JOIN happened USING (place)
GROUP BY period.begins
ORDER BY period.begins;

-- name: embedding_errors
-- Revisions whose vectors could not be made, those that are given up first.
-- $1 tenant text, $2 project uuid, $3 attempts max int, $4 limit int
SELECT work.memory_id, work.revision_no AS revision, project.slug, model.name AS model, work.model_id, work.attempts,
       work.attempts >= $3::int AS given_up, work.error
FROM memhub.embedding_work AS work
JOIN memhub.projects AS project ON project.id = work.project_id
JOIN memhub.embedding_models AS model ON model.id = work.model_id
WHERE work.error IS NOT NULL AND project.tenant = $1::text AND ($2::uuid IS NULL OR project.id = $2)
ORDER BY work.attempts DESC, work.project_id, work.memory_id, work.revision_no
LIMIT $4::int;

-- name: waiting
-- Revisions of this tenant that have no vectors yet. $1 tenant text, $2 project uuid, $3 attempts max int
SELECT count(*) AS waiting, count(*) FILTER (WHERE work.attempts >= $3::int) AS given_up
FROM memhub.embedding_work AS work JOIN memhub.projects AS project ON project.id = work.project_id
WHERE project.tenant = $1::text AND ($2::uuid IS NULL OR project.id = $2);

-- name: audit_job_retry
-- Jobs belong to no tenant: the trail of the one who did it tells of it.
-- $1 tenant text, $2 job bigint, $3 client text, $4 request id text
INSERT INTO memhub.audit_events (tenant, event, client, request_id, details, created_at)
VALUES ($1::text, 'job_retried', $3::text, $4::text, jsonb_build_object('job', $2::bigint), clock_timestamp());

-- name: retry_embeddings
-- Forgets the failures of revisions that got no vectors, so that the next sweep takes them as new.
-- $1 tenant text, $2 project uuid, $3 client text, $4 request id text
WITH again AS (
    UPDATE memhub.embedding_work AS work SET attempts = 0, error = NULL, leased_until = NULL
    FROM memhub.projects AS project
    WHERE project.id = work.project_id AND project.tenant = $1::text AND ($2::uuid IS NULL OR project.id = $2)
        AND work.error IS NOT NULL AND (work.leased_until IS NULL OR work.leased_until <= clock_timestamp())
    RETURNING work.project_id
), audited AS (
    INSERT INTO memhub.audit_events (tenant, project_id, event, client, request_id, details, created_at)
    SELECT $1, project_id, 'embeddings_retried', $3::text, $4::text, jsonb_build_object('revisions', count(*)),
           clock_timestamp()
    FROM again GROUP BY project_id ORDER BY project_id
)
SELECT count(*) FROM again;
