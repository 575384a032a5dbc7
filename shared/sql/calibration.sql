-- name: sample
-- Memories that have vectors of the model, in an order that is random and the same at every run.
-- $1 project uuid, $2 model text, $3 rows int
SELECT live.memory_id, revision.content
FROM memhub.searchable_memories AS live
JOIN memhub.memory_revisions AS revision USING (project_id, memory_id, revision_no)
WHERE live.project_id = $1::uuid AND EXISTS (
    SELECT FROM memhub.live_vectors AS vector JOIN memhub.embedding_models AS model ON model.id = vector.model_id
    WHERE model.name = $2::text AND vector.project_id = live.project_id AND vector.memory_id = live.memory_id
        AND vector.revision_no = live.revision_no)
ORDER BY md5(live.memory_id::text)
LIMIT $3::int;

-- name: noise
-- The cosine that a share $6 of unrelated pairs stays below: a sentence of one memory against the best chunk of another.
-- $1 project uuid, $2 model text, $3 the memories of the sentences uuid[], $4 the sentences' vectors text[],
-- $5 memories compared at most int, $6 share float8
WITH sentences AS MATERIALIZED (
    SELECT memory_id, embedding::halfvec AS embedding FROM unnest($3::uuid[], $4::text[]) AS told (memory_id, embedding)
), compared AS MATERIALIZED (
    SELECT live.memory_id, live.revision_no FROM memhub.searchable_memories AS live
    WHERE live.project_id = $1::uuid
    ORDER BY md5(live.memory_id::text)
    LIMIT $5::int
), pairs AS (
    SELECT - min(vector.embedding <#> sentences.embedding) AS cosine
    FROM compared
    JOIN memhub.live_vectors AS vector
        ON vector.project_id = $1 AND vector.memory_id = compared.memory_id AND vector.revision_no = compared.revision_no
    JOIN memhub.embedding_models AS model ON model.id = vector.model_id AND model.name = $2::text
    JOIN sentences ON sentences.memory_id <> compared.memory_id
    GROUP BY sentences.memory_id, compared.memory_id
)
SELECT count(*) AS pairs, percentile_cont($6::float8) WITHIN GROUP (ORDER BY cosine) AS floor FROM pairs;

-- name: floor
-- $1 model text
SELECT floor FROM memhub.embedding_models WHERE name = $1::text;

-- name: set_floor
-- $1 model text, $2 floor real
UPDATE memhub.embedding_models AS model SET floor = $2::real
FROM memhub.embedding_models AS before
WHERE model.name = $1::text AND before.id = model.id
RETURNING before.floor AS floor_before;
