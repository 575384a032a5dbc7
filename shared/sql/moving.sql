-- name: clock
SELECT clock_timestamp() AS at;

-- name: export_projects
-- Everything about projects but their memories, a line each. The order of the keys is the order of the file.
-- $1 tenant text (NULL: all), $2 project uuid (NULL: all)
SELECT project.id, json_build_object(
    'kind', 'project', 'id', project.id, 'tenant', project.tenant, 'slug', project.slug,
    'display_name', project.display_name, 'created_at', project.created_at,
    'aliases', (
        SELECT coalesce(json_agg(json_build_object(
            'kind', alias.kind, 'value', alias.value, 'created_at', alias.created_at)
            ORDER BY alias.kind, alias.value), '[]')
        FROM memhub.project_aliases AS alias WHERE alias.project_id = project.id),
    'events', (
        SELECT coalesce(json_agg(json_build_object(
            'event', event.event, 'client', event.client, 'request_id', event.request_id, 'details', event.details,
            'at', event.created_at) ORDER BY event.id), '[]')
        FROM memhub.audit_events AS event WHERE event.project_id = project.id AND event.memory_id IS NULL)
    )::text AS line
FROM memhub.projects AS project
WHERE ($1::text IS NULL OR project.tenant = $1) AND ($2::uuid IS NULL OR project.id = $2)
ORDER BY project.tenant, project.slug;

-- name: export_memories
-- The memories of a project with all that ever happened to them, a line each. The ids are sorted alone, so that a cursor
-- holds one line at a time.
-- $1 project uuid
SELECT json_build_object(
    'kind', 'memory', 'id', memory.id, 'project', memory.project_id, 'conversation', memory.conversation,
    'status', memory.status, 'created_at', memory.created_at, 'retired_at', memory.retired_at,
    'retired_by', memory.retired_by, 'superseded_by', memory.superseded_by,
    'revisions', (
        SELECT json_agg(json_build_object(
            'revision', revision.revision_no, 'origin', revision.origin, 'content', revision.content,
            'type', revision.type, 'category', revision.category, 'tags', revision.tags,
            'importance', revision.importance, 'expires_at', revision.expires_at,
            'author_client', revision.author_client, 'author_conversation', revision.author_conversation,
            'author_kind', revision.author_kind, 'source', revision.source, 'reason', revision.reason,
            'valid_from', revision.valid_from, 'valid_to', revision.valid_to, 'purged_at', revision.purged_at)
            ORDER BY revision.revision_no)
        FROM memhub.memory_revisions AS revision
        WHERE revision.project_id = $1 AND revision.memory_id = memory.id),
    'attestations', (
        SELECT coalesce(json_agg(json_build_object(
            'revision', said.revision_no, 'author_client', said.author_client,
            'author_conversation', said.author_conversation, 'author_kind', said.author_kind, 'type', said.type,
            'category', said.category, 'tags', said.tags, 'importance', said.importance,
            'expires_at', said.expires_at, 'source', said.source, 'created_at', said.created_at)
            ORDER BY said.id), '[]')
        FROM memhub.attestations AS said WHERE said.project_id = $1 AND said.memory_id = memory.id),
    'events', (
        SELECT coalesce(json_agg(json_build_object(
            'event', event.event, 'revision', event.revision_no, 'scope_key', event.scope_key, 'client', event.client,
            'request_id', event.request_id, 'details', event.details, 'at', event.created_at) ORDER BY event.id), '[]')
        FROM memhub.audit_events AS event WHERE event.project_id = $1 AND event.memory_id = memory.id)
    )::text AS line
FROM (SELECT project_id, id, conversation, status, created_at, retired_at, retired_by, superseded_by
      FROM memhub.memories WHERE project_id = $1::uuid ORDER BY created_at, id OFFSET 0) AS memory;

-- name: count_memories
-- $1 tenant text (NULL: all), $2 project uuid (NULL: all)
SELECT count(*)
FROM memhub.memories AS memory JOIN memhub.projects AS project ON project.id = memory.project_id
WHERE ($1::text IS NULL OR project.tenant = $1) AND ($2::uuid IS NULL OR project.id = $2);

-- name: gather_words
SELECT memhub.gather_words();

-- name: settle_words
-- The own lock first: otherwise, of two imports that end together, neither would settle.
SELECT pg_advisory_unlock_shared(hashtextextended('memhub.gather_words', 0)) AS unlocked,
       memhub.settle_words() AS settled;

-- name: merge_words
SELECT memhub.merge_words();

-- name: add_project
-- No row when its id, or its name in the tenant, is there already.
-- $1 project uuid, $2 tenant text, $3 slug text, $4 display name text, $5 created_at timestamptz
INSERT INTO memhub.projects (id, tenant, slug, display_name, created_at)
VALUES ($1::uuid, $2::text, $3::text, $4::text, $5::timestamptz)
ON CONFLICT DO NOTHING
RETURNING id;

-- name: standing_project
-- $1 project uuid, $2 tenant text, $3 slug text
SELECT id, tenant FROM memhub.projects
WHERE id = $1::uuid OR (tenant = $2::text AND slug = $3::text)
ORDER BY id <> $1
LIMIT 1;

-- name: add_aliases
-- An alias that leads somewhere already stays as it is.
-- $1 project uuid, $2 tenant text, $3 kinds text[], $4 values text[], $5 times timestamptz[], pairwise
INSERT INTO memhub.project_aliases (tenant, kind, value, project_id, created_at)
SELECT $2::text, alias.kind, alias.value, $1::uuid, alias.created_at
FROM unnest($3::text[], $4::text[], $5::timestamptz[]) AS alias (kind, value, created_at)
ORDER BY alias.kind, alias.value
ON CONFLICT DO NOTHING;

-- name: known
-- Which of these memories are there already, by their place in the arrays, with what they and their heads say and how
-- much is told of them.
-- $1 projects uuid[], $2 memories uuid[], pairwise
SELECT asked.place, memory.status, memory.revision_no, memory.retired_at, memory.superseded_by, head.content_hash,
       head.valid_from,
       (SELECT count(*) FROM memhub.attestations AS said
        WHERE said.project_id = memory.project_id AND said.memory_id = memory.id) AS attestations,
       (SELECT count(*) FROM memhub.audit_events AS event
        WHERE event.project_id = memory.project_id AND event.memory_id = memory.id) AS events
FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS asked (project_id, id, place)
JOIN memhub.memories AS memory ON memory.project_id = asked.project_id AND memory.id = asked.id
JOIN memhub.memory_revisions AS head
    ON head.project_id = memory.project_id AND head.memory_id = memory.id AND head.revision_no = memory.revision_no
ORDER BY asked.place;

-- name: standing
-- Which of these memories are there, by their place in the arrays. $1 projects uuid[], $2 memories uuid[], pairwise
SELECT asked.place
FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS asked (project_id, id, place)
JOIN memhub.memories AS memory ON memory.project_id = asked.project_id AND memory.id = asked.id;

-- name: revisions_here
-- $1 projects uuid[], $2 memories uuid[], pairwise
SELECT asked.place, revision.origin, revision.content_hash, revision.type, revision.category, revision.tags,
       revision.importance, revision.expires_at, revision.author_client, revision.author_kind, revision.source,
       revision.reason, revision.valid_from, revision.valid_to
FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS asked (project_id, id, place)
JOIN memhub.memory_revisions AS revision ON revision.project_id = asked.project_id AND revision.memory_id = asked.id
ORDER BY asked.place, revision.revision_no;

-- name: attestations_here
-- $1 projects uuid[], $2 memories uuid[], pairwise
SELECT asked.place, said.revision_no, said.author_client, said.created_at
FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS asked (project_id, id, place)
JOIN memhub.attestations AS said ON said.project_id = asked.project_id AND said.memory_id = asked.id
ORDER BY asked.place, said.id;

-- name: events_here
-- $1 projects uuid[], $2 memories uuid[], pairwise
SELECT asked.place, event.event, event.revision_no, event.client, event.created_at
FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS asked (project_id, id, place)
JOIN memhub.audit_events AS event ON event.project_id = asked.project_id AND event.memory_id = asked.id
ORDER BY asked.place, event.id;

-- name: rings
-- Which of these would be superseded by what they superseded, by place in the arrays. UNION ends every chain.
-- $1 projects uuid[], $2 memories uuid[], $3 successors uuid[], pairwise
WITH RECURSIVE chain AS (
    SELECT asked.place, asked.project_id, asked.id AS first, asked.successor AS next
    FROM unnest($1::uuid[], $2::uuid[], $3::uuid[]) WITH ORDINALITY AS asked (project_id, id, successor, place)
    UNION
    SELECT chain.place, chain.project_id, chain.first, memory.superseded_by
    FROM chain
    JOIN memhub.memories AS memory ON memory.project_id = chain.project_id AND memory.id = chain.next
    WHERE memory.superseded_by IS NOT NULL AND chain.next <> chain.first
)
SELECT place FROM chain WHERE next = first ORDER BY place;

-- name: leave
-- Out of the search projection, and a trigger keeps the vectors for the past. $1 projects uuid[], $2 memories uuid[], pairwise
DELETE FROM memhub.live_memories AS live
USING unnest($1::uuid[], $2::uuid[]) AS told (project_id, id)
WHERE live.project_id = told.project_id AND live.memory_id = told.id;

-- name: close
-- $1 projects uuid[], $2 memories uuid[], $3 revisions int[], $4 valid_to timestamptz[], pairwise
UPDATE memhub.memory_revisions AS revision SET valid_to = told.valid_to
FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::timestamptz[]) AS told (project_id, id, revision_no, valid_to)
WHERE revision.project_id = told.project_id AND revision.memory_id = told.id
    AND revision.revision_no = told.revision_no AND revision.valid_to IS NULL;

-- name: advance
-- One revision at a time, as the guard of memories wants it. $1 projects uuid[], $2 memories uuid[], $3 revisions int[]
UPDATE memhub.memories AS memory
SET revision_no = told.revision_no, status = 'ACTIVE', retired_at = NULL, retired_by = NULL, superseded_by = NULL
FROM unnest($1::uuid[], $2::uuid[], $3::int[]) AS told (project_id, id, revision_no)
WHERE memory.project_id = told.project_id AND memory.id = told.id;

-- name: retire
-- $1 projects uuid[], $2 memories uuid[], $3 statuses text[], $4 retired_at timestamptz[], $5 retired_by text[],
-- $6 superseded_by uuid[], pairwise
UPDATE memhub.memories AS memory
SET status = told.status, retired_at = told.retired_at, retired_by = told.retired_by, superseded_by = told.superseded_by
FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::timestamptz[], $5::text[], $6::uuid[])
    AS told (project_id, id, status, retired_at, retired_by, superseded_by)
WHERE memory.project_id = told.project_id AND memory.id = told.id;

-- name: live_twins
-- Who says this already, by place in the arrays, the expired ones too: they give way.
-- $1 projects uuid[], $2 scope keys text[], $3 content hashes bytea[], pairwise
SELECT asked.place, live.memory_id, live.revision_no, live.expires_at <= clock_timestamp() IS TRUE AS expired
FROM unnest($1::uuid[], $2::text[], $3::bytea[]) WITH ORDINALITY AS asked (project_id, scope_key, content_hash, place)
JOIN memhub.live_memories AS live
    ON live.project_id = asked.project_id AND live.scope_key = asked.scope_key
    AND live.content_hash = asked.content_hash
ORDER BY asked.place, live.memory_id;

-- name: passed_words
-- Which of these words held here before and hold no more, by place in the arrays; where it is known when they were said,
-- only those that held until later. What expired held no longer than that, whenever it was superseded.
-- $1 projects uuid[], $2 scope keys text[], $3 content hashes bytea[], $4 said_at timestamptz[], pairwise
SELECT asked.place
FROM unnest($1::uuid[], $2::text[], $3::bytea[], $4::timestamptz[]) WITH ORDINALITY
    AS asked (project_id, scope_key, content_hash, said_at, place)
WHERE EXISTS (
    SELECT FROM memhub.memory_revisions AS revision
    JOIN memhub.memories AS memory ON memory.project_id = revision.project_id AND memory.id = revision.memory_id
    WHERE revision.project_id = asked.project_id AND revision.content_hash = asked.content_hash
        AND revision.valid_to IS NOT NULL AND coalesce(memory.conversation, '') = asked.scope_key
        AND (asked.said_at IS NULL OR least(revision.valid_to, revision.expires_at) > asked.said_at));

-- name: lock
-- By project and id, like every writer. $1 projects uuid[], $2 memories uuid[], pairwise
SELECT memory.id
FROM memhub.memories AS memory
JOIN unnest($1::uuid[], $2::uuid[]) AS asked (project_id, id)
    ON memory.project_id = asked.project_id AND memory.id = asked.id
ORDER BY memory.project_id, memory.id
FOR UPDATE OF memory;

-- name: add_memories
-- $1 projects uuid[], $2 ids uuid[], $3 conversations text[], $4 statuses text[], $5 revisions int[],
-- $6 created_at timestamptz[], $7 retired_at timestamptz[], $8 retired_by text[], $9 superseded_by uuid[]
INSERT INTO memhub.memories (
    project_id, id, conversation, status, revision_no, created_at, retired_at, retired_by, superseded_by)
SELECT project_id, id, conversation, status, revision_no, created_at, retired_at, retired_by, superseded_by
FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::int[], $6::timestamptz[], $7::timestamptz[],
            $8::text[], $9::uuid[])
    AS life (project_id, id, conversation, status, revision_no, created_at, retired_at, retired_by, superseded_by)
ORDER BY project_id, id;

-- name: add_revisions
-- Lexemes come joined by blanks and tags by the unit separator: neither can hold it, and unnest takes no ragged arrays.
-- $1 projects uuid[], $2 memories uuid[], $3 revisions int[], $4 origins text[], $5 contents text[],
-- $6 content hashes bytea[], $7 plain texts text[], $8 lexemes text[], $9 types text[], $10 categories text[],
-- $11 tags text[], $12 importances int2[], $13 expires_at timestamptz[], $14 clients text[], $15 conversations text[],
-- $16 author kinds text[], $17 sources text[], $18 reasons text[], $19 valid_from timestamptz[],
-- $20 valid_to timestamptz[], $21 purged_at timestamptz[], pairwise
INSERT INTO memhub.memory_revisions (
    project_id, memory_id, revision_no, origin, content, content_hash, document, type, category, tags, importance,
    expires_at, author_client, author_conversation, author_kind, source, reason, valid_from, valid_to, purged_at)
SELECT project_id, memory_id, revision_no, origin, content, content_hash,
       CASE WHEN content IS NOT NULL THEN to_tsvector('pg_catalog.english', plain)
           || array_to_tsvector(string_to_array(lexemes, ' ') || ('!' || replace(project_id::text, '-', '')))
           || memhub.label_words(category, string_to_array(tags, E'\x1f')) END,
       type, category, string_to_array(tags, E'\x1f'), importance, expires_at, author_client, author_conversation,
       author_kind, source, reason, valid_from, valid_to, purged_at
FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::text[], $5::text[], $6::bytea[], $7::text[], $8::text[], $9::text[],
            $10::text[], $11::text[], $12::int2[], $13::timestamptz[], $14::text[], $15::text[], $16::text[],
            $17::text[], $18::text[], $19::timestamptz[], $20::timestamptz[], $21::timestamptz[])
    AS said (project_id, memory_id, revision_no, origin, content, content_hash, plain, lexemes, type, category, tags,
             importance, expires_at, author_client, author_conversation, author_kind, source, reason, valid_from,
             valid_to, purged_at);

-- name: add_live
-- The search projection of what was just written: ACTIVE, with content, not expired. And the vectors that it owes.
-- $1 projects uuid[], $2 memories uuid[], pairwise
WITH live AS (
    INSERT INTO memhub.live_memories (
        project_id, memory_id, revision_no, scope_key, content_hash, document, type, tags, importance, expires_at,
        author_client, author_kind, created_at, updated_at)
    SELECT memory.project_id, memory.id, head.revision_no, coalesce(memory.conversation, ''), head.content_hash,
           head.document, head.type, head.tags, head.importance, head.expires_at, head.author_client, head.author_kind,
           memory.created_at, head.valid_from
    FROM unnest($1::uuid[], $2::uuid[]) AS born (project_id, id)
    JOIN memhub.memories AS memory ON memory.project_id = born.project_id AND memory.id = born.id
    JOIN memhub.memory_revisions AS head
        ON head.project_id = memory.project_id AND head.memory_id = memory.id
        AND head.revision_no = memory.revision_no
    WHERE memory.status = 'ACTIVE' AND head.content IS NOT NULL
        AND (head.expires_at IS NULL OR head.expires_at > clock_timestamp())
    ORDER BY memory.project_id, memory.id
    RETURNING project_id, memory_id, revision_no
), owed AS (
    INSERT INTO memhub.embedding_work (project_id, memory_id, revision_no, model_id)
    SELECT live.project_id, live.memory_id, live.revision_no, model.id
    FROM live CROSS JOIN memhub.embedding_models AS model WHERE model.state IN ('current', 'building')
    RETURNING project_id, memory_id, revision_no
)
SELECT DISTINCT project_id, memory_id, revision_no FROM owed ORDER BY project_id, memory_id;

-- name: add_attestations
-- $1 projects uuid[], $2 memories uuid[], $3 revisions int[], $4 clients text[], $5 conversations text[],
-- $6 author kinds text[], $7 types text[], $8 categories text[], $9 tags text[], $10 importances int2[],
-- $11 expires_at timestamptz[], $12 sources text[], $13 created_at timestamptz[], pairwise
INSERT INTO memhub.attestations (
    project_id, memory_id, revision_no, author_client, author_conversation, author_kind, type, category, tags,
    importance, expires_at, source, created_at)
SELECT project_id, memory_id, revision_no, author_client, author_conversation, author_kind, type, category,
       string_to_array(tags, E'\x1f'), importance, expires_at, source, created_at
FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
            $10::int2[], $11::timestamptz[], $12::text[], $13::timestamptz[]) WITH ORDINALITY
    AS said (project_id, memory_id, revision_no, author_client, author_conversation, author_kind, type, category, tags,
             importance, expires_at, source, created_at, place)
ORDER BY place;

-- name: attested
-- Who of these said so before: an import that is run again attests nothing twice.
-- $1 projects uuid[], $2 memories uuid[], $3 clients text[], $4 sources text[], pairwise
SELECT asked.place
FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[]) WITH ORDINALITY
    AS asked (project_id, memory_id, author_client, source, place)
WHERE EXISTS (
    SELECT FROM memhub.attestations AS said
    WHERE said.project_id = asked.project_id AND said.memory_id = asked.memory_id
        AND said.author_kind = 'import' AND said.author_client = asked.author_client
        AND said.source IS NOT DISTINCT FROM asked.source);

-- name: add_events
-- $1 projects uuid[], $2 memories uuid[], $3 revisions int[], $4 scope keys text[], $5 events text[], $6 clients text[],
-- $7 request ids text[], $8 details text[], $9 created_at timestamptz[], pairwise
INSERT INTO memhub.audit_events (
    tenant, project_id, memory_id, revision_no, scope_key, event, client, request_id, details, created_at)
SELECT project.tenant, told.project_id, told.memory_id, told.revision_no, told.scope_key, told.event, told.client,
       told.request_id, told.details::jsonb, told.created_at
FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
            $9::timestamptz[]) WITH ORDINALITY
    AS told (project_id, memory_id, revision_no, scope_key, event, client, request_id, details, created_at, place)
JOIN memhub.projects AS project ON project.id = told.project_id
ORDER BY told.place;

-- name: count_again
-- Words are counted again when something new was written: what is imported may be old and is new all the same.
-- $1 projects uuid[]
UPDATE memhub.counted_projects SET counted_at = '-infinity'
WHERE project_id = ANY ($1::uuid[]) AND counted_at IS NOT NULL;

-- name: defer
-- $1 jobs jsonb
SELECT public.procrastinate_defer_jobs_v1(ARRAY(
    SELECT jsonb_populate_record(NULL::public.procrastinate_job_to_defer_v1, job)
    FROM jsonb_array_elements($1::text::jsonb) AS job)) AS jobs;
