-- name: lock_current
-- The foreign key of a vector takes its model's row FOR KEY SHARE: as long as this lock is held, nothing gets vectors of
-- the current model. Searches and writes of memories go on.
SELECT id, name, dimension, floor, state FROM memhub.embedding_models WHERE state = 'current' ORDER BY id FOR UPDATE;

-- name: build
-- A new model, or one that was retired; no row comes back for one that is current or being built. Run it with the
-- current one locked, so that two commands begin one after the other.
-- $1 name text, $2 dimension int, $3 floor real
INSERT INTO memhub.embedding_models AS model (name, dimension, floor, state, created_at)
VALUES ($1::text, $2::int, $3::real, 'building', clock_timestamp())
ON CONFLICT (name) DO UPDATE SET state = 'building' WHERE model.state = 'retired'
RETURNING id;

-- name: set_state
-- $1 model int, $2 state text
UPDATE memhub.embedding_models SET state = $2::text WHERE id = $1::int;

-- name: forgive
-- Another try for what was given up. $1 model int, $2 attempts max int
UPDATE memhub.embedding_work SET attempts = 0, leased_until = NULL WHERE model_id = $1::int AND attempts >= $2::int;

-- name: progress
-- How far a model is built. Missing are memories that a switch would lose, or that had the time to be embedded; not
-- missing is what is new, or given up, and cannot be found by the current model either.
-- $1 model int, $2 current model int, $3 attempts max int, $4 new are memories of the last seconds float8
SELECT count(*) AS searchable,
       count(*) FILTER (WHERE live.built) AS embedded,
       count(*) FILTER (WHERE NOT live.built AND (live.found OR NOT (live.is_new OR live.given_up))) AS missing,
       count(*) FILTER (WHERE NOT live.built AND live.given_up AND live.found) AS refused,
       count(*) FILTER (WHERE NOT live.built AND NOT live.owed) AS unowed,
       max(live.error) AS error
FROM (
    SELECT EXISTS (
               SELECT FROM memhub.live_vectors AS vector
               WHERE vector.project_id = memory.project_id AND vector.model_id = $1::int
                   AND vector.memory_id = memory.memory_id AND vector.revision_no = memory.revision_no) AS built,
           EXISTS (
               SELECT FROM memhub.live_vectors AS vector
               WHERE vector.project_id = memory.project_id AND vector.model_id = $2::int
                   AND vector.memory_id = memory.memory_id AND vector.revision_no = memory.revision_no) AS found,
           memory.updated_at > clock_timestamp() - make_interval(secs => $4::float8) AS is_new,
           coalesce(work.attempts >= $3::int, false) AS given_up,
           work.memory_id IS NOT NULL AS owed,
           work.error
    FROM memhub.searchable_memories AS memory
    LEFT JOIN memhub.embedding_work AS work
        ON work.project_id = memory.project_id AND work.memory_id = memory.memory_id
        AND work.revision_no = memory.revision_no AND work.model_id = $1
) AS live;
