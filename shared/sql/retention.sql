-- name: lock_expired
-- Memories first, by project and id; one that a writer holds is left for the next run, which also keeps two reapers
-- apart. $1 rows int
SELECT memory.project_id, memory.id
FROM memhub.memories AS memory
JOIN (SELECT project_id, memory_id FROM memhub.live_memories
      WHERE expires_at <= clock_timestamp() ORDER BY expires_at, memory_id LIMIT $1::int) AS expired
    ON expired.project_id = memory.project_id AND expired.memory_id = memory.id
ORDER BY memory.project_id, memory.id
FOR UPDATE OF memory SKIP LOCKED;

-- name: collect_idempotency_keys
-- $1 days float8, $2 rows int
WITH gone AS (
    DELETE FROM memhub.idempotency_keys
    WHERE (project_id, key) IN (
        SELECT project_id, key FROM memhub.idempotency_keys
        WHERE created_at < clock_timestamp() - make_interval(secs => 86400 * $1::float8)
        ORDER BY created_at, project_id, key
        LIMIT $2::int
        FOR UPDATE SKIP LOCKED)
    RETURNING key
)
SELECT count(*) FROM gone;

-- name: collect_jobs
-- Ids are handed out in the order of time: the oldest finished jobs that are old enough, and their events with them.
-- $1 queues text[], $2 statuses text[], $3 days float8, $4 rows int
WITH gone AS (
    DELETE FROM public.procrastinate_jobs
    WHERE id IN (
        SELECT job.id
        FROM (SELECT id FROM public.procrastinate_jobs
              WHERE queue_name = ANY ($1::text[]) AND status::text = ANY ($2::text[])
              ORDER BY id LIMIT $4::int) AS oldest
        JOIN public.procrastinate_jobs AS job ON job.id = oldest.id
        WHERE status::text = ANY ($2) AND NOT EXISTS (
            SELECT FROM public.procrastinate_events AS event
            WHERE event.job_id = job.id
                AND event.at >= clock_timestamp() - make_interval(secs => 86400 * $3::float8))
        ORDER BY job.id
        FOR UPDATE OF job SKIP LOCKED)
    RETURNING id
)
SELECT count(*) FROM gone;

-- name: collect_embedding_work
-- Work that nobody will ever do: for a model that was retired, for a revision that was purged.
-- $1 rows int
WITH gone AS (
    DELETE FROM memhub.embedding_work
    WHERE (project_id, memory_id, revision_no, model_id) IN (
        SELECT work.project_id, work.memory_id, work.revision_no, work.model_id
        FROM memhub.embedding_work AS work
        JOIN memhub.embedding_models AS model ON model.id = work.model_id
        JOIN memhub.memory_revisions AS revision USING (project_id, memory_id, revision_no)
        WHERE model.state = 'retired' OR revision.purged_at IS NOT NULL
        ORDER BY work.project_id, work.memory_id, work.revision_no, work.model_id
        LIMIT $1::int
        FOR UPDATE OF work SKIP LOCKED)
    RETURNING model_id
)
SELECT count(*) FROM gone;

-- name: collect_vectors
-- Live vectors of retired models, a memory's together. The model is locked so that it cannot be built again meanwhile:
-- the trigger would then keep them as if their memory had passed. The memories come before their vectors, as with every
-- writer; one that is held is left for the next run. From project to project, because no index begins with the model.
-- $1 rows int
WITH model AS MATERIALIZED (
    SELECT id FROM memhub.embedding_models WHERE state = 'retired' ORDER BY id FOR SHARE
), spent AS MATERIALIZED (
    SELECT DISTINCT found.project_id, found.memory_id, found.model_id
    FROM (SELECT vector.project_id, vector.memory_id, vector.model_id
          FROM model CROSS JOIN memhub.projects AS project CROSS JOIN LATERAL (
              SELECT project_id, memory_id, model_id FROM memhub.live_vectors
              WHERE project_id = project.id AND model_id = model.id
              ORDER BY memory_id, revision_no, chunk_no
              LIMIT $1::int) AS vector
          ORDER BY vector.project_id, vector.memory_id
          LIMIT $1) AS found
), held AS MATERIALIZED (
    SELECT memory.project_id, memory.id
    FROM memhub.memories AS memory
    JOIN (SELECT DISTINCT project_id, memory_id FROM spent) AS wanted
        ON wanted.project_id = memory.project_id AND wanted.memory_id = memory.id
    ORDER BY memory.project_id, memory.id
    FOR KEY SHARE OF memory SKIP LOCKED
), gone AS (
    DELETE FROM memhub.live_vectors AS vector
    USING held JOIN spent ON spent.project_id = held.project_id AND spent.memory_id = held.id
    WHERE vector.project_id = spent.project_id AND vector.model_id = spent.model_id
        AND vector.memory_id = spent.memory_id
    RETURNING vector.model_id
)
SELECT count(*) FROM gone;

-- name: collect_past_vectors
-- Vectors of the past of retired models. $1 rows int
WITH model AS MATERIALIZED (
    SELECT id FROM memhub.embedding_models WHERE state = 'retired' ORDER BY id FOR SHARE
), spent AS MATERIALIZED (
    SELECT vector.project_id, vector.model_id, vector.memory_id, vector.revision_no, vector.chunk_no
    FROM model CROSS JOIN memhub.projects AS project CROSS JOIN LATERAL (
        SELECT project_id, model_id, memory_id, revision_no, chunk_no FROM memhub.retired_vectors
        WHERE project_id = project.id AND model_id = model.id
        ORDER BY memory_id, revision_no, chunk_no
        LIMIT $1::int) AS vector
    LIMIT $1
), gone AS (
    DELETE FROM memhub.retired_vectors AS vector USING spent
    WHERE vector.project_id = spent.project_id AND vector.model_id = spent.model_id
        AND vector.memory_id = spent.memory_id AND vector.revision_no = spent.revision_no
        AND vector.chunk_no = spent.chunk_no
    RETURNING vector.model_id
)
SELECT count(*) FROM gone;

-- name: collect_runs
-- $1 days float8, $2 runs kept of each actor int, $3 rows int
WITH gone AS (
    DELETE FROM memhub.fleet_runs
    WHERE id IN (
        SELECT run.id
        FROM memhub.fleet_runs AS run
        WHERE run.finished_at < clock_timestamp() - make_interval(secs => 86400 * $1::float8)
            OR run.id < (SELECT newer.id FROM memhub.fleet_runs AS newer WHERE newer.actor = run.actor
                         ORDER BY newer.id DESC OFFSET $2::int - 1 LIMIT 1)
        ORDER BY run.id
        LIMIT $3::int)
    RETURNING id
)
SELECT count(*) FROM gone;

-- name: settle_words
-- What an import that was killed left: the index of words gathers on, and every search reads what it gathered.
SELECT memhub.settle_words()::int;

-- name: merge_words
-- Looks, where nothing was gathered: a killed import, or one whose end did not have the index to itself, left some.
SELECT memhub.merge_words();
