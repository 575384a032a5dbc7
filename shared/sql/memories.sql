-- name: remember
-- A new memory in one statement, which is its own transaction: one round trip where ten statements took
-- 1.6 ms against 0.6. It inserts plainly: a key or a content that is taken fails on its constraint, nothing is written,
-- and the caller goes the careful way. No row comes back when a live twin was seen at once.
-- Twins are looked up by the whole key of their index, one lookup for each scope: a generic plan made while the table
-- was small would otherwise read every live memory of the project.
-- No row either for an expiry that has passed: whether the request is the replay of one that was in time is known to the
-- careful way alone.
-- The key is claimed first: everything else hangs on `claimed` by reference.
-- $1 project uuid, $2 tenant text, $3 memory uuid, $4 conversation text (scope; NULL: the project),
-- $5 content text, $6 content hash bytea, $7 plain text of the document text, $8 lexemes of the document text[],
-- $9 type text, $10 category text, $11 tags text[], $12 importance int2, $13 expires_at timestamptz, $14 ttl interval,
-- $15 client text, $16 its conversation text, $17 author kind text, $18 source text, $19 request id text,
-- $20 idempotency key text, $21 fingerprint bytea, $22 response jsonb, $23 audit details jsonb,
-- $24 the job jsonb in a list, $25 when this transaction retired what it replaces timestamptz: at every instant one of
-- the two held
WITH clock AS MATERIALIZED (
    SELECT coalesce($25::timestamptz, clock_timestamp()) AS at
    WHERE NOT EXISTS (
            SELECT FROM memhub.live_memories
            WHERE project_id = $1::uuid AND scope_key = '' AND content_hash = $6::bytea)
        AND ($4::text IS NULL OR NOT EXISTS (
            SELECT FROM memhub.live_memories
            WHERE project_id = $1 AND scope_key = $4 AND content_hash = $6))
        AND ($13::timestamptz IS NULL OR $13 > clock_timestamp())
), claimed AS (
    INSERT INTO memhub.idempotency_keys (project_id, key, fingerprint, response, created_at)
    SELECT $1, $20::text, $21::bytea, $22::text::jsonb, clock.at FROM clock WHERE $20 IS NOT NULL
    RETURNING key
), words AS MATERIALIZED (
    SELECT to_tsvector('pg_catalog.english', $7::text) || array_to_tsvector($8::text[])
           || memhub.label_words($10::text, $11::text[]) AS document,
           coalesce($13::timestamptz, clock.at + $14::interval) AS expires_at, clock.at
    FROM clock WHERE $20 IS NULL OR EXISTS (SELECT FROM claimed)
), born AS (
    INSERT INTO memhub.memories (project_id, id, conversation, created_at)
    SELECT $1, $3::uuid, $4, words.at FROM words
), spoken AS (
    INSERT INTO memhub.memory_revisions (
        project_id, memory_id, revision_no, origin, content, content_hash, document, type, category, tags, importance,
        expires_at, author_client, author_conversation, author_kind, source, valid_from)
    SELECT $1, $3, 1, 'remember', $5::text, $6, words.document, $9::text, $10::text, $11::text[], $12::int2,
           words.expires_at, $15::text, $16::text, $17::text, $18::text, words.at
    FROM words
), live AS (
    INSERT INTO memhub.live_memories (
        project_id, memory_id, revision_no, scope_key, content_hash, document, type, tags, importance, expires_at,
        author_client, author_kind, created_at, updated_at)
    SELECT $1, $3, 1, coalesce($4, ''), $6, words.document, $9, $11, $12, words.expires_at, $15, $17, words.at, words.at
    FROM words
), attested AS (
    INSERT INTO memhub.attestations (
        project_id, memory_id, revision_no, author_client, author_conversation, author_kind, type, category, tags,
        importance, expires_at, source, created_at)
    SELECT $1, $3, 1, $15, $16, $17, $9, $10, $11, $12, words.expires_at, $18, words.at FROM words
), audited AS (
    INSERT INTO memhub.audit_events (
        tenant, project_id, memory_id, revision_no, scope_key, event, client, request_id, details, created_at)
    SELECT $2::text, $1, $3, 1, coalesce($4, ''), 'remembered', $15, $19::text, $23::text::jsonb, words.at FROM words
), owed AS (
    INSERT INTO memhub.embedding_work (project_id, memory_id, revision_no, model_id)
    SELECT $1, $3, 1, model.id
    FROM words, memhub.embedding_models AS model WHERE model.state IN ('current', 'building')
    RETURNING model_id
)
SELECT words.at, words.expires_at,
       (SELECT public.procrastinate_defer_jobs_v1(
            ARRAY[jsonb_populate_record(NULL::public.procrastinate_job_to_defer_v1, $24::text::jsonb -> 0)])
        FROM owed LIMIT 1) IS NOT NULL AS pending
FROM words;

-- name: revise
-- Compare-and-set: the UPDATE moves the head only from the revision that the caller has read, and its RETURNING
-- reads the clock after the row lock and what the new revision keeps of the old one. Rows are found by their whole keys,
-- of the parameters: otherwise the planner takes every revision of the project with that number.
-- One revision is open at a time, so `spoken` reads from `closed`. The live row is replaced by INSERT ... FROM the DELETE:
-- an UPDATE fails on its vectors, an independent DELETE and INSERT on the key.
-- No row comes back when anything stood against it; nothing is written then, so that without an idempotency key it can
-- be its own transaction. A key is claimed by a statement before: an UPDATE that finds no row must not leave a claim.
-- $1 project uuid, $2 tenant text, $3 memory uuid, $4 the caller's conversation text, $5 expected revision int,
-- $6 content text, $7 content hash bytea, $8 plain text text, $9 lexemes text[], $10 tags text[] (NULL: unchanged),
-- $11 importance int2 (NULL: unchanged), $12 expires_at timestamptz (NULL: unchanged), $13 never expires boolean,
-- $14 reason text, $15 client text, $16 request id text, $17 the job jsonb in a list, $18 audit details jsonb
WITH moved AS (
    UPDATE memhub.memories AS memory SET revision_no = memory.revision_no + 1
    FROM memhub.memory_revisions AS revision
    WHERE memory.project_id = $1::uuid AND memory.id = $3::uuid AND memory.revision_no = $5::int
        AND memory.status = 'ACTIVE' AND (memory.conversation IS NULL OR memory.conversation = $4::text)
        AND revision.project_id = $1 AND revision.memory_id = $3 AND revision.revision_no = $5
        AND ($13::boolean OR coalesce($12::timestamptz, revision.expires_at) > clock_timestamp() IS NOT FALSE)
        AND NOT EXISTS (
            SELECT FROM memhub.live_memories AS twin
            WHERE twin.project_id = $1 AND twin.scope_key = '' AND twin.content_hash = $7::bytea
                AND twin.memory_id <> $3)
        AND (memory.conversation IS NULL OR NOT EXISTS (
            SELECT FROM memhub.live_memories AS twin
            WHERE twin.project_id = $1 AND twin.scope_key = $4 AND twin.content_hash = $7 AND twin.memory_id <> $3))
    RETURNING memory.revision_no, memory.created_at, clock_timestamp() AS at, revision.type, revision.category,
              coalesce($10::text[], revision.tags) AS tags, coalesce($11::int2, revision.importance) AS importance,
              CASE WHEN NOT $13 THEN coalesce($12, revision.expires_at) END AS expires_at,
              revision.source, coalesce(memory.conversation, '') AS scope_key,
              to_tsvector('pg_catalog.english', $8::text) || array_to_tsvector($9::text[])
                  || memhub.label_words(revision.category, coalesce($10, revision.tags)) AS document
), closed AS (
    UPDATE memhub.memory_revisions AS revision SET valid_to = moved.at
    FROM moved
    WHERE revision.project_id = $1 AND revision.memory_id = $3 AND revision.revision_no = $5
    RETURNING moved.revision_no, moved.at, moved.document, moved.type, moved.category, moved.tags, moved.importance,
              moved.expires_at, moved.source
), spoken AS (
    INSERT INTO memhub.memory_revisions (
        project_id, memory_id, revision_no, origin, content, content_hash, document, type, category, tags, importance,
        expires_at, author_client, author_conversation, author_kind, source, reason, valid_from)
    SELECT $1, $3, closed.revision_no, 'revise', $6::text, $7, closed.document, closed.type, closed.category, closed.tags,
           closed.importance, closed.expires_at, $15::text, $4, 'agent', closed.source, $14::text, closed.at
    FROM closed
), gone AS (
    DELETE FROM memhub.live_memories AS live USING moved
    WHERE live.project_id = $1 AND live.memory_id = $3 AND live.revision_no = $5
    RETURNING live.memory_id
), live AS (
    INSERT INTO memhub.live_memories (
        project_id, memory_id, revision_no, scope_key, content_hash, document, type, tags, importance, expires_at,
        author_client, author_kind, created_at, updated_at)
    SELECT $1, $3, moved.revision_no, moved.scope_key, $7, moved.document, moved.type, moved.tags, moved.importance,
           moved.expires_at, $15, 'agent', moved.created_at, moved.at
    FROM moved LEFT JOIN gone ON gone.memory_id = $3
), audited AS (
    INSERT INTO memhub.audit_events (
        tenant, project_id, memory_id, revision_no, scope_key, event, client, request_id, details, created_at)
    SELECT $2::text, $1, $3, moved.revision_no, moved.scope_key, 'revised', $15, $16::text, $18::text::jsonb, moved.at
    FROM moved
), owed AS (
    INSERT INTO memhub.embedding_work (project_id, memory_id, revision_no, model_id)
    SELECT $1, $3, moved.revision_no, model.id
    FROM moved, memhub.embedding_models AS model WHERE model.state IN ('current', 'building')
    RETURNING model_id
)
SELECT moved.revision_no, moved.at, moved.created_at, moved.type, moved.category, moved.tags, moved.importance,
       moved.expires_at, moved.source, moved.scope_key,
       (SELECT public.procrastinate_defer_jobs_v1(
            ARRAY[jsonb_populate_record(NULL::public.procrastinate_job_to_defer_v1, $17::text::jsonb -> 0)])
        FROM owed LIMIT 1) IS NOT NULL AS pending
FROM moved;

-- name: retire
-- Takes memories that the caller has locked out of the live set: superseded by $4, or forgotten when that is NULL.
-- Rows are found by $3 beside `retired`: otherwise the planner reads every revision of the project.
-- $1 project uuid, $2 tenant text, $3 memories uuid[], $4 successor uuid, $5 retired by text, $6 client text,
-- $7 request id text, $8 audit details jsonb
WITH clock AS MATERIALIZED (
    SELECT clock_timestamp() AS at
), retired AS (
    UPDATE memhub.memories AS memory
    SET status = CASE WHEN $4::uuid IS NULL THEN 'DELETED' ELSE 'SUPERSEDED' END, superseded_by = $4,
        retired_at = clock.at, retired_by = $5::text
    FROM clock
    WHERE memory.project_id = $1::uuid AND memory.id = ANY ($3::uuid[]) AND memory.status = 'ACTIVE'
    RETURNING memory.id, memory.revision_no, memory.conversation, memory.retired_at AS at
), closed AS (
    UPDATE memhub.memory_revisions AS revision SET valid_to = retired.at
    FROM retired
    WHERE revision.project_id = $1 AND revision.memory_id = ANY ($3) AND revision.memory_id = retired.id
        AND revision.revision_no = retired.revision_no
), gone AS (
    DELETE FROM memhub.live_memories AS live USING retired
    WHERE live.project_id = $1 AND live.memory_id = ANY ($3) AND live.memory_id = retired.id
), audited AS (
    INSERT INTO memhub.audit_events (
        tenant, project_id, memory_id, revision_no, scope_key, event, client, request_id, details, created_at)
    SELECT $2::text, $1, retired.id, retired.revision_no, coalesce(retired.conversation, ''),
           CASE WHEN $4 IS NULL THEN 'forgotten' ELSE 'superseded' END, $6::text, $7::text, $8::text::jsonb, retired.at
    FROM retired ORDER BY retired.id
)
SELECT id, revision_no, at FROM retired ORDER BY id;

-- name: forget
-- `retire` for one memory in one round trip. No row comes back when it is not there to be forgotten, or when the UPDATE
-- waited for a revision: this statement's snapshot then holds neither its words to close nor its live row to delete.
-- It answers with all that its caller is told: a second statement could fail after this one has committed.
-- $1 project uuid, $2 tenant text, $3 memory uuid, $4 the caller's conversation text, $5 client text,
-- $6 request id text, $7 audit details jsonb
WITH head AS MATERIALIZED (
    SELECT memory.revision_no
    FROM memhub.memories AS memory
    WHERE memory.project_id = $1::uuid AND memory.id = $3::uuid AND memory.status = 'ACTIVE'
        AND (memory.conversation IS NULL OR memory.conversation = $4::text)
), retired AS (
    UPDATE memhub.memories AS memory
    SET status = 'DELETED', retired_at = clock_timestamp(), retired_by = 'client'
    FROM head
    WHERE memory.project_id = $1 AND memory.id = $3 AND memory.status = 'ACTIVE'
        AND memory.revision_no = head.revision_no
    RETURNING memory.id, memory.revision_no, memory.conversation, memory.created_at, memory.retired_at AS at
), closed AS (
    UPDATE memhub.memory_revisions AS revision SET valid_to = retired.at
    FROM retired
    WHERE revision.project_id = $1 AND revision.memory_id = $3 AND revision.revision_no = retired.revision_no
), gone AS (
    DELETE FROM memhub.live_memories AS live USING retired
    WHERE live.project_id = $1 AND live.memory_id = $3
), audited AS (
    INSERT INTO memhub.audit_events (
        tenant, project_id, memory_id, revision_no, scope_key, event, client, request_id, details, created_at)
    SELECT $2::text, $1, retired.id, retired.revision_no, coalesce(retired.conversation, ''), 'forgotten', $5::text,
           $6::text, $7::text::jsonb, retired.at
    FROM retired
)
SELECT retired.id AS memory_id, retired.revision_no AS revision, 'DELETED' AS status, revision.type,
       retired.conversation, revision.content, revision.category, revision.tags, revision.importance, revision.expires_at,
       revision.author_client, revision.author_kind, revision.source, retired.created_at,
       revision.valid_from AS updated_at, NULL::uuid AS superseded_by,
       revision.expires_at <= retired.at IS TRUE AS expired
FROM retired
JOIN memhub.memory_revisions AS revision
    ON revision.project_id = $1 AND revision.memory_id = $3 AND revision.revision_no = retired.revision_no;

-- name: restore
-- Brings a locked, forgotten memory back as a new revision with the words of its last one, so that every interval of
-- visibility stands in the revisions. No row for one that has expired: nobody could find it.
-- $1 project uuid, $2 tenant text, $3 memory uuid, $4 the caller's conversation text, $5 reason text, $6 client text,
-- $7 request id text, $8 the job jsonb in a list
WITH back AS (
    UPDATE memhub.memories AS memory
    SET status = 'ACTIVE', revision_no = memory.revision_no + 1, retired_at = NULL, retired_by = NULL,
        superseded_by = NULL
    FROM memhub.memory_revisions AS said
    WHERE memory.project_id = $1::uuid AND memory.id = $3::uuid
        AND said.project_id = $1 AND said.memory_id = $3 AND said.revision_no = memory.revision_no
        AND said.expires_at <= clock_timestamp() IS NOT TRUE
    RETURNING memory.id, memory.revision_no, memory.conversation, memory.created_at, clock_timestamp() AS at
), last AS (
    SELECT revision.content, revision.content_hash, revision.document, revision.type, revision.category, revision.tags,
           revision.importance, revision.expires_at, revision.author_kind, revision.source
    FROM memhub.memory_revisions AS revision, back
    WHERE revision.project_id = $1 AND revision.memory_id = $3 AND revision.revision_no = back.revision_no - 1
), spoken AS (
    INSERT INTO memhub.memory_revisions (
        project_id, memory_id, revision_no, origin, content, content_hash, document, type, category, tags, importance,
        expires_at, author_client, author_conversation, author_kind, source, reason, valid_from)
    SELECT $1, back.id, back.revision_no, 'restore', last.content, last.content_hash, last.document, last.type,
           last.category, last.tags, last.importance, last.expires_at, $6::text, $4::text, last.author_kind, last.source,
           $5::text, back.at
    FROM back, last
), live AS (
    INSERT INTO memhub.live_memories (
        project_id, memory_id, revision_no, scope_key, content_hash, document, type, tags, importance, expires_at,
        author_client, author_kind, created_at, updated_at)
    SELECT $1, back.id, back.revision_no, coalesce(back.conversation, ''), last.content_hash, last.document, last.type,
           last.tags, last.importance, last.expires_at, $6, last.author_kind, back.created_at, back.at
    FROM back, last
), owed AS (
    INSERT INTO memhub.embedding_work (project_id, memory_id, revision_no, model_id)
    SELECT $1, back.id, back.revision_no, model.id
    FROM back, memhub.embedding_models AS model WHERE model.state IN ('current', 'building')
    RETURNING model_id
), audited AS (
    INSERT INTO memhub.audit_events (
        tenant, project_id, memory_id, revision_no, scope_key, event, client, request_id, details, created_at)
    SELECT $2::text, $1, back.id, back.revision_no, coalesce(back.conversation, ''), 'restored', $6, $7::text,
           jsonb_strip_nulls(jsonb_build_object('reason', $5)), back.at
    FROM back
)
SELECT back.revision_no, back.at,
       (SELECT public.procrastinate_defer_jobs_v1(
            ARRAY[jsonb_populate_record(NULL::public.procrastinate_job_to_defer_v1, $8::text::jsonb -> 0)])
        FROM owed LIMIT 1) IS NOT NULL AS pending
FROM back;

-- name: attest
-- Another client says what a locked, live memory says already.
-- $1 project uuid, $2 tenant text, $3 memory uuid, $4 revision int, $5 client text, $6 its conversation text,
-- $7 author kind text, $8 type text, $9 category text, $10 tags text[], $11 importance int2,
-- $12 expires_at timestamptz, $13 ttl interval, $14 source text, $15 request id text, $16 audit details jsonb
WITH clock AS MATERIALIZED (
    SELECT clock_timestamp() AS at
), attested AS (
    INSERT INTO memhub.attestations (
        project_id, memory_id, revision_no, author_client, author_conversation, author_kind, type, category, tags,
        importance, expires_at, source, created_at)
    SELECT $1::uuid, $3::uuid, $4::int, $5::text, $6::text, $7::text, $8::text, $9::text, $10::text[], $11::int2,
           coalesce($12::timestamptz, clock.at + $13::interval), $14::text, clock.at
    FROM clock
    RETURNING expires_at
), audited AS (
    INSERT INTO memhub.audit_events (
        tenant, project_id, memory_id, revision_no, scope_key, event, client, request_id, details, created_at)
    SELECT $2::text, $1, $3, $4, coalesce(memory.conversation, ''), 'attested', $5, $15::text, $16::text::jsonb, clock.at
    FROM clock, memhub.memories AS memory WHERE memory.project_id = $1 AND memory.id = $3
)
SELECT attested.expires_at,
       (SELECT count(*) FROM memhub.attestations WHERE project_id = $1 AND memory_id = $3) + 1 AS attestations
FROM attested;

-- name: twins
-- Live rows that say this already, the project's before the conversation's, the expired ones too: they give way.
-- $1 project uuid, $2 scope key text, $3 content hash bytea, $4 a memory that is not its own twin uuid
SELECT memory_id, expires_at <= clock_timestamp() IS TRUE AS expired
FROM memhub.live_memories
WHERE project_id = $1::uuid AND content_hash = $3::bytea AND scope_key IN ($2::text, '')
    AND memory_id IS DISTINCT FROM $4::uuid
ORDER BY scope_key, memory_id;

-- name: expire
-- Takes locked, expired memories out of the search projection, for the reaper or because the same is said anew, and
-- tells it in the audit, once: whoever comes second finds no row. They stay ACTIVE and can be revived by a revise.
-- IS TRUE hides the index of what may expire: a plan made while the table was small would read all of it.
-- $1 projects uuid[], $2 memories uuid[], pairwise
WITH gone AS (
    DELETE FROM memhub.live_memories AS live
    USING unnest($1::uuid[], $2::uuid[]) AS locked (project_id, memory_id)
    WHERE live.project_id = locked.project_id AND live.memory_id = locked.memory_id
        AND live.expires_at <= clock_timestamp() IS TRUE
    RETURNING live.project_id, live.memory_id, live.revision_no, live.scope_key, live.expires_at
), audited AS (
    INSERT INTO memhub.audit_events (
        tenant, project_id, memory_id, revision_no, scope_key, event, client, details, created_at)
    SELECT project.tenant, gone.project_id, gone.memory_id, gone.revision_no, gone.scope_key, 'expired', 'memhub',
           jsonb_build_object('expires_at', gone.expires_at), clock_timestamp()
    FROM gone JOIN memhub.projects AS project ON project.id = gone.project_id
    ORDER BY gone.project_id, gone.memory_id
)
SELECT count(*) FROM gone;

-- name: lock
-- By ascending id: what locks in several projects goes by project and id. FOR UPDATE at once, because status and
-- revision_no are key columns and a weaker lock would have to be raised.
-- $1 project uuid, $2 memories uuid[], $3 the caller's conversation text
SELECT id, status, revision_no, conversation, retired_by, superseded_by
FROM memhub.memories
WHERE project_id = $1::uuid AND id = ANY ($2::uuid[]) AND (conversation IS NULL OR conversation = $3::text)
ORDER BY id
FOR UPDATE;

-- name: read
-- A memory at one of its revisions, or at its head when $3 is NULL, with the status of now.
-- $1 project uuid, $2 memory uuid, $3 revision int, $4 the caller's conversation text
SELECT memory.id AS memory_id, revision.revision_no AS revision, memory.status, revision.type,
       memory.conversation, revision.content, revision.category, revision.tags, revision.importance, revision.expires_at,
       revision.author_client, revision.author_kind, revision.source, memory.created_at,
       revision.valid_from AS updated_at, memory.superseded_by,
       revision.expires_at <= clock_timestamp() IS TRUE AS expired,
       CASE WHEN EXISTS (
           SELECT FROM memhub.embedding_work AS work
           WHERE work.project_id = memory.project_id AND work.memory_id = memory.id
               AND work.revision_no = revision.revision_no) THEN 'pending'
       WHEN EXISTS (
           SELECT FROM memhub.live_vectors AS vector
           WHERE vector.project_id = memory.project_id AND vector.memory_id = memory.id
               AND vector.revision_no = revision.revision_no) THEN 'ready'
       ELSE 'disabled' END AS embedding
FROM memhub.memories AS memory
JOIN memhub.memory_revisions AS revision
    ON revision.project_id = memory.project_id AND revision.memory_id = memory.id
    AND revision.revision_no = coalesce($3::int, memory.revision_no)
WHERE memory.project_id = $1::uuid AND memory.id = $2::uuid
    AND (memory.conversation IS NULL OR memory.conversation = $4::text);

-- name: clock
SELECT clock_timestamp();

-- name: revisions
-- The newest ones, oldest first: as many as begin within a number of bytes of content, one at least.
-- $1 project uuid, $2 memory uuid, $3 only those before it int, $4 revisions int, $5 bytes int
SELECT revision_no AS revision, origin, content, type, category, tags, importance, expires_at, author_client,
       author_kind, source, reason, valid_from, valid_to, purged_at
FROM (
    SELECT *, sum(octet_length(coalesce(content, ''))) OVER (
               ORDER BY revision_no DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_of_newer
    FROM memhub.memory_revisions
    WHERE project_id = $1::uuid AND memory_id = $2::uuid AND ($3::int IS NULL OR revision_no < $3)
    ORDER BY revision_no DESC
    LIMIT $4::int
) AS newest
WHERE coalesce(bytes_of_newer, 0) < $5::int
ORDER BY revision_no;

-- name: attestations
-- $1 project uuid, $2 memory uuid, $3 limit int
SELECT revision_no AS revision, author_client, author_kind, type, category, tags, importance, expires_at, source,
       created_at
FROM memhub.attestations
WHERE project_id = $1::uuid AND memory_id = $2::uuid
ORDER BY id
LIMIT $3::int;

-- name: audit_events
-- The newest events of a memory, oldest first; of what it replaced, the ids that the caller may see. Of details that are not
-- as a server writes them nothing may end the answer.
-- $1 project uuid, $2 memory uuid, $3 limit int, $4 the caller's conversation text
SELECT event, revision_no AS revision, client, request_id, (details - 'supersedes' || coalesce((
           SELECT jsonb_build_object('supersedes', jsonb_agg(told.id ORDER BY told.place))
           FROM jsonb_array_elements_text(
               CASE jsonb_typeof(details -> 'supersedes') WHEN 'array' THEN details -> 'supersedes' ELSE '[]' END)
               WITH ORDINALITY AS told (id, place)
           JOIN memhub.memories AS replaced
               ON replaced.project_id = $1
               AND replaced.id = CASE WHEN pg_input_is_valid(told.id, 'uuid') THEN told.id::uuid END
           WHERE replaced.conversation IS NULL OR replaced.conversation = $4::text
           HAVING count(*) > 0), '{}'))::text AS details, created_at
FROM (
    SELECT id, event, revision_no, client, request_id, created_at,
           CASE jsonb_typeof(details) WHEN 'object' THEN details ELSE jsonb_build_object('details', details) END
               AS details
    FROM memhub.audit_events
    WHERE project_id = $1::uuid AND memory_id = $2::uuid
    ORDER BY id DESC
    LIMIT $3::int
) AS newest
ORDER BY id;

-- name: predecessors
-- What this memory replaced, as far as the caller may see it.
-- $1 project uuid, $2 memory uuid, $3 the caller's conversation text
SELECT id FROM memhub.memories
WHERE project_id = $1::uuid AND superseded_by = $2::uuid AND (conversation IS NULL OR conversation = $3::text)
ORDER BY retired_at, id;

-- name: lifecycle
-- $1 project uuid, $2 memory uuid, $3 the caller's conversation text
SELECT memory.id, memory.status, memory.revision_no, memory.conversation, memory.created_at, memory.retired_at,
       memory.retired_by, memory.superseded_by
FROM memhub.memories AS memory
WHERE memory.project_id = $1::uuid AND memory.id = $2::uuid
    AND (memory.conversation IS NULL OR memory.conversation = $3::text);
