-- name: append
-- $1 projects uuid[], $2 memories uuid[], $3 counters text[], $4 hits int[], pairwise
INSERT INTO memhub.counter_deltas (project_id, memory_id, counter, hits, created_at)
SELECT project_id, memory_id, counter, hits, clock_timestamp()
FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::int[]) AS delta (project_id, memory_id, counter, hits);

-- name: fold
-- A delta is deleted in the statement that adds it up: it counts once, whoever folds. Two folders take different
-- deltas (SKIP LOCKED) and meet on totals in one order.
-- $1 rows int
WITH folded AS MATERIALIZED (
    DELETE FROM memhub.counter_deltas
    WHERE id IN (SELECT id FROM memhub.counter_deltas ORDER BY id LIMIT $1::int FOR UPDATE SKIP LOCKED)
    RETURNING project_id, memory_id, counter, hits, created_at
), added AS (
    INSERT INTO memhub.memory_counters AS total (
        project_id, memory_id, search_hits, context_hits, history_hits, used_at)
    SELECT project_id, memory_id,
           coalesce(sum(hits) FILTER (WHERE counter = 'search'), 0),
           coalesce(sum(hits) FILTER (WHERE counter = 'context'), 0),
           coalesce(sum(hits) FILTER (WHERE counter = 'history'), 0),
           max(created_at)
    FROM folded
    GROUP BY project_id, memory_id
    ORDER BY project_id, memory_id
    ON CONFLICT (project_id, memory_id) DO UPDATE
    SET search_hits = total.search_hits + excluded.search_hits,
        context_hits = total.context_hits + excluded.context_hits,
        history_hits = total.history_hits + excluded.history_hits,
        used_at = greatest(total.used_at, excluded.used_at)
)
SELECT count(*) FROM folded;
