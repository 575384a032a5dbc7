-- name: models
SELECT id, name, dimension, floor, state FROM memhub.embedding_models ORDER BY id;

-- name: register
-- The first model of a database becomes current; a second start, another process or another model changes nothing.
-- $1 name text, $2 dimension int, $3 floor real
INSERT INTO memhub.embedding_models (name, dimension, floor, state, created_at)
SELECT $1::text, $2::int, $3::real, 'current', clock_timestamp()
WHERE NOT EXISTS (SELECT FROM memhub.embedding_models WHERE state = 'current')
ON CONFLICT DO NOTHING;

-- name: set_floor
-- $1 name text, $2 floor real
UPDATE memhub.embedding_models SET floor = $2::real WHERE name = $1::text AND floor <> $2::real;

-- name: set_dimension
-- A row without vectors was written by whoever had not loaded the model, or is left of what was served by its name
-- before. Where it has some, live or of the past, their foreign keys raise. $1 model int, $2 dimension int
UPDATE memhub.embedding_models SET dimension = $2::int WHERE id = $1::int AND dimension <> $2::int;

-- name: claim_own
-- The row that a job names and a batch of others beside it. No row comes back when its own is done, in hand, or was
-- tried too often: then the job has nothing to do. Attempts are counted here, so that a text that kills its worker
-- counts too; the count also tells this claim from a later one.
-- $1 models int[], $2 project uuid, $3 memory uuid, $4 revision int, $5 rows int, $6 lease in seconds float8,
-- $7 attempts below int
WITH own AS MATERIALIZED (
    SELECT project_id, memory_id, revision_no, model_id
    FROM memhub.embedding_work
    WHERE project_id = $2::uuid AND memory_id = $3::uuid AND revision_no = $4::int AND model_id = ANY ($1::int[])
        AND attempts < $7::int AND (leased_until IS NULL OR leased_until < clock_timestamp())
    FOR UPDATE SKIP LOCKED
), others AS MATERIALIZED (
    SELECT project_id, memory_id, revision_no, model_id
    FROM memhub.embedding_work
    WHERE EXISTS (SELECT FROM own)
        AND NOT (project_id = $2 AND memory_id = $3 AND revision_no = $4)
        AND model_id = ANY ($1) AND attempts < $7 AND (leased_until IS NULL OR leased_until < clock_timestamp())
    ORDER BY project_id, memory_id, revision_no, model_id
    LIMIT $5::int - 1
    FOR UPDATE SKIP LOCKED
)
UPDATE memhub.embedding_work AS work
SET leased_until = clock_timestamp() + make_interval(secs => $6::float8), attempts = work.attempts + 1
FROM (SELECT project_id, memory_id, revision_no, model_id FROM own
      UNION ALL SELECT project_id, memory_id, revision_no, model_id FROM others) AS due,
     memhub.memory_revisions AS revision
WHERE (work.project_id, work.memory_id, work.revision_no, work.model_id)
        = (due.project_id, due.memory_id, due.revision_no, due.model_id)
    AND (revision.project_id, revision.memory_id, revision.revision_no)
        = (due.project_id, due.memory_id, due.revision_no)
RETURNING work.project_id, work.memory_id, work.revision_no, work.model_id, work.attempts, revision.content,
          revision.type, revision.category, revision.tags, revision.valid_from;

-- name: claim_due
-- A batch of whatever is due: rows without a job, and those whose lease ran out.
-- $1 models int[], $2 attempts from int, $3 attempts below int, $4 rows int, $5 lease in seconds float8
WITH due AS MATERIALIZED (
    SELECT project_id, memory_id, revision_no, model_id
    FROM memhub.embedding_work
    WHERE model_id = ANY ($1::int[]) AND attempts >= $2::int AND attempts < $3::int
        AND (leased_until IS NULL OR leased_until < clock_timestamp())
    ORDER BY project_id, memory_id, revision_no, model_id
    LIMIT $4::int
    FOR UPDATE SKIP LOCKED
)
UPDATE memhub.embedding_work AS work
SET leased_until = clock_timestamp() + make_interval(secs => $5::float8), attempts = work.attempts + 1
FROM due, memhub.memory_revisions AS revision
WHERE (work.project_id, work.memory_id, work.revision_no, work.model_id)
        = (due.project_id, due.memory_id, due.revision_no, due.model_id)
    AND (revision.project_id, revision.memory_id, revision.revision_no)
        = (due.project_id, due.memory_id, due.revision_no)
RETURNING work.project_id, work.memory_id, work.revision_no, work.model_id, work.attempts, revision.content,
          revision.type, revision.category, revision.tags, revision.valid_from;

-- name: renew
-- $1 projects uuid[], $2 memories uuid[], $3 revisions int[], $4 models int[], $5 attempts int[], pairwise,
-- $6 lease in seconds float8
UPDATE memhub.embedding_work AS work
SET leased_until = clock_timestamp() + make_interval(secs => $6::float8)
FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::int[], $5::int[])
    AS held (project_id, memory_id, revision_no, model_id, attempts)
WHERE (work.project_id, work.memory_id, work.revision_no, work.model_id, work.attempts)
    = (held.project_id, held.memory_id, held.revision_no, held.model_id, held.attempts);

-- name: put_off
-- Gives claimed rows back, due in $6 seconds, with the reason; $8 says whether the attempt counts.
-- $1 projects uuid[], $2 memories uuid[], $3 revisions int[], $4 models int[], $5 attempts int[], pairwise,
-- $6 pause in seconds float8, $7 error text, $8 counts boolean
UPDATE memhub.embedding_work AS work
SET leased_until = clock_timestamp() + make_interval(secs => $6::float8), error = coalesce($7::text, work.error),
    attempts = CASE WHEN $8::boolean THEN work.attempts ELSE work.attempts - 1 END
FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::int[], $5::int[])
    AS held (project_id, memory_id, revision_no, model_id, attempts)
WHERE (work.project_id, work.memory_id, work.revision_no, work.model_id, work.attempts)
    = (held.project_id, held.memory_id, held.revision_no, held.model_id, held.attempts);

-- name: forgive
-- What a model refused may pass now: whoever starts a worker may have mended its settings.
-- $1 models int[], $2 attempts max int
UPDATE memhub.embedding_work SET attempts = 0, leased_until = NULL
WHERE model_id = ANY ($1::int[]) AND attempts >= $2::int AND error LIKE 'EMBEDDING_REFUSED%';

-- name: lock_memories
-- By project and id like every writer, before anything else: then neither the live row nor the revision can change under
-- the statement that follows, which reads with a snapshot of its own. $1 projects uuid[], $2 memories uuid[], pairwise
SELECT memory.id
FROM memhub.memories AS memory
JOIN (SELECT DISTINCT project_id, memory_id FROM unnest($1::uuid[], $2::uuid[]) AS asked (project_id, memory_id))
    AS written ON memory.project_id = written.project_id AND memory.id = written.memory_id
ORDER BY memory.project_id, memory.id
FOR KEY SHARE OF memory;

-- name: write
-- Vectors of live revisions where retrieval compares them, of passed revisions where as_of and the evidence of former
-- wordings do, and their work is done. The live row is joined, so that a revision that passed while the model ran ends in
-- retired_vectors and not in an error. json_populate_recordset reads a vector by its column's own type, wherever the
-- extension lives.
-- $1 rows of live_vectors json
WITH vector AS MATERIALIZED (
    SELECT project_id, memory_id, revision_no, model_id, dimension, chunk_no, embedding
    FROM json_populate_recordset(NULL::memhub.live_vectors, $1::text::json)
), live AS (
    INSERT INTO memhub.live_vectors (project_id, memory_id, revision_no, model_id, dimension, chunk_no, embedding)
    SELECT vector.project_id, vector.memory_id, vector.revision_no, vector.model_id, vector.dimension, vector.chunk_no,
           vector.embedding
    FROM vector JOIN memhub.live_memories AS live USING (project_id, memory_id, revision_no)
    ORDER BY vector.project_id, vector.memory_id, vector.revision_no, vector.model_id, vector.chunk_no
    ON CONFLICT DO NOTHING
), retired AS (
    INSERT INTO memhub.retired_vectors (project_id, memory_id, revision_no, model_id, dimension, chunk_no, embedding)
    SELECT vector.project_id, vector.memory_id, vector.revision_no, vector.model_id, vector.dimension, vector.chunk_no,
           vector.embedding
    FROM vector JOIN memhub.memory_revisions AS revision USING (project_id, memory_id, revision_no)
    WHERE revision.content IS NOT NULL AND NOT EXISTS (
        SELECT FROM memhub.live_memories AS live
        WHERE (live.project_id, live.memory_id, live.revision_no)
            = (vector.project_id, vector.memory_id, vector.revision_no))
    ORDER BY vector.project_id, vector.memory_id, vector.revision_no, vector.model_id, vector.chunk_no
    ON CONFLICT DO NOTHING
)
DELETE FROM memhub.embedding_work AS work
USING (SELECT DISTINCT project_id, memory_id, revision_no, model_id FROM vector) AS done
WHERE (work.project_id, work.memory_id, work.revision_no, work.model_id)
    = (done.project_id, done.memory_id, done.revision_no, done.model_id);

-- name: drop_work
-- $1 projects uuid[], $2 memories uuid[], $3 revisions int[], $4 models int[], pairwise
DELETE FROM memhub.embedding_work AS work
USING unnest($1::uuid[], $2::uuid[], $3::int[], $4::int[]) AS held (project_id, memory_id, revision_no, model_id)
WHERE (work.project_id, work.memory_id, work.revision_no, work.model_id)
    = (held.project_id, held.memory_id, held.revision_no, held.model_id);

-- name: owe
-- A page of live memories: work for those that lack vectors of a model that is current or being built. A revision that
-- is being closed is skipped: the foreign key would wait for it, and with several could deadlock.
-- $1 after project uuid, $2 after memory uuid, $3 rows int
WITH page AS MATERIALIZED (
    SELECT project_id, memory_id, revision_no
    FROM memhub.live_memories
    WHERE (project_id, memory_id) > ($1::uuid, $2::uuid)
    ORDER BY project_id, memory_id
    LIMIT $3::int
), lacking AS MATERIALIZED (
    SELECT revision.project_id, revision.memory_id, revision.revision_no, model.id AS model_id
    FROM page
    JOIN memhub.memory_revisions AS revision USING (project_id, memory_id, revision_no)
    JOIN memhub.embedding_models AS model ON model.state IN ('current', 'building')
    WHERE NOT EXISTS (
            SELECT FROM memhub.live_vectors AS vector
            WHERE (vector.project_id, vector.model_id, vector.memory_id, vector.revision_no)
                = (revision.project_id, model.id, revision.memory_id, revision.revision_no))
        AND NOT EXISTS (
            SELECT FROM memhub.embedding_work AS work
            WHERE (work.project_id, work.memory_id, work.revision_no, work.model_id)
                = (revision.project_id, revision.memory_id, revision.revision_no, model.id))
    FOR KEY SHARE OF revision SKIP LOCKED
), owed AS (
    INSERT INTO memhub.embedding_work (project_id, memory_id, revision_no, model_id)
    SELECT project_id, memory_id, revision_no, model_id FROM lacking
    ON CONFLICT DO NOTHING
    RETURNING model_id
)
SELECT last.project_id, last.memory_id, (SELECT count(*) FROM owed) AS owed
FROM (SELECT project_id, memory_id FROM page ORDER BY project_id DESC, memory_id DESC LIMIT 1) AS last;

-- name: owe_past
-- A page of revisions that passed: work for those that lack vectors of the current model, so that as_of finds them by
-- meaning once search has moved to it. In the order of their keys, and locked as in owe.
-- $1 after project uuid, $2 after memory uuid, $3 after revision int, $4 rows int
WITH page AS MATERIALIZED (
    SELECT project_id, memory_id, revision_no
    FROM memhub.memory_revisions
    WHERE (project_id, memory_id, revision_no) > ($1::uuid, $2::uuid, $3::int)
    ORDER BY project_id, memory_id, revision_no
    LIMIT $4::int
), lacking AS MATERIALIZED (
    SELECT revision.project_id, revision.memory_id, revision.revision_no, model.id AS model_id
    FROM page
    JOIN memhub.memory_revisions AS revision USING (project_id, memory_id, revision_no)
    JOIN memhub.embedding_models AS model ON model.state = 'current'
    WHERE revision.content IS NOT NULL
        AND NOT EXISTS (
            SELECT FROM memhub.live_memories AS live
            WHERE (live.project_id, live.memory_id, live.revision_no)
                = (revision.project_id, revision.memory_id, revision.revision_no))
        AND NOT EXISTS (
            SELECT FROM memhub.retired_vectors AS vector
            WHERE (vector.project_id, vector.model_id, vector.memory_id, vector.revision_no)
                = (revision.project_id, model.id, revision.memory_id, revision.revision_no))
        AND NOT EXISTS (
            SELECT FROM memhub.embedding_work AS work
            WHERE (work.project_id, work.memory_id, work.revision_no, work.model_id)
                = (revision.project_id, revision.memory_id, revision.revision_no, model.id))
    FOR KEY SHARE OF revision SKIP LOCKED
), owed AS (
    INSERT INTO memhub.embedding_work (project_id, memory_id, revision_no, model_id)
    SELECT project_id, memory_id, revision_no, model_id FROM lacking
    ON CONFLICT DO NOTHING
    RETURNING model_id
)
SELECT last.project_id, last.memory_id, last.revision_no, (SELECT count(*) FROM owed) AS owed
FROM (SELECT project_id, memory_id, revision_no FROM page
      ORDER BY project_id DESC, memory_id DESC, revision_no DESC LIMIT 1) AS last;

-- name: in_hand
-- Whether there is work that was not given up. $1 attempts max int
SELECT EXISTS (SELECT FROM memhub.embedding_work WHERE attempts < $1::int) AS in_hand;

-- name: sizes
SELECT (SELECT count(*) FROM memhub.live_memories) AS live,
       (SELECT count(*) FROM memhub.memory_revisions) AS revisions;
