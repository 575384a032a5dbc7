-- Only what the whole project sees is counted: a count, or a spelling, would give a conversation's words away.

-- name: due
-- Projects whose words should be counted again: never counted, a memory written, revised, imported or gone since, or a
-- day old. Counting costs the size of a project, and so does looking whether it changed: both are due when $2 for each
-- 1,000 of its memories have passed. One whose count failed comes last, so that it keeps no other from its turn.
-- $1 projects at most int, $2 seconds float8
SELECT project.id
FROM memhub.projects AS project LEFT JOIN memhub.counted_projects AS counted ON counted.project_id = project.id
WHERE CASE WHEN counted.counted_at IS NULL
           THEN EXISTS (
               SELECT FROM memhub.live_memories AS live WHERE live.project_id = project.id AND live.scope_key = '')
           ELSE counted.counted_at < now() - interval '1 second' * ($2::float8 * counted.memories / 1000)
                AND (counted.counted_at < now() - interval '1 day' OR (
                    SELECT count(*) <> counted.memories OR max(live.updated_at) > counted.counted_at
                    FROM memhub.live_memories AS live
                    WHERE live.project_id = project.id AND live.scope_key = '')) END
ORDER BY greatest(counted.counted_at, counted.failed_at) NULLS FIRST, project.id
LIMIT $1::int;

-- name: lock
-- One counter of a project at a time; whoever comes second has nothing to do.
-- $1 project uuid
SELECT pg_try_advisory_xact_lock(hashtextextended('memhub.term_frequencies ' || $1::uuid::text, 0)) AS mine;

-- name: count
-- The words of what is live now, and what no such memory holds any more is gone. Only what changed is written.
-- $1 project uuid, $2 the project's lexeme text
WITH counted AS MATERIALIZED (
    SELECT word.lexeme, count(*)::int AS documents
    FROM memhub.live_memories AS live CROSS JOIN LATERAL unnest(live.document) AS word
    WHERE live.project_id = $1::uuid AND live.scope_key = '' AND word.lexeme <> $2::text
    GROUP BY word.lexeme
), gone AS (
    DELETE FROM memhub.term_frequencies AS frequency
    WHERE frequency.project_id = $1 AND NOT EXISTS (SELECT FROM counted WHERE counted.lexeme = frequency.lexeme)
), kept AS (
    INSERT INTO memhub.term_frequencies AS frequency (project_id, lexeme, documents)
    SELECT $1, lexeme, documents FROM counted
    ON CONFLICT (project_id, lexeme) DO UPDATE SET documents = EXCLUDED.documents
    WHERE frequency.documents <> EXCLUDED.documents
)
INSERT INTO memhub.counted_projects AS project (project_id, memories, counted_at)
SELECT $1, count(*), now() FROM memhub.live_memories WHERE project_id = $1 AND scope_key = ''
ON CONFLICT (project_id) DO UPDATE
SET memories = EXCLUDED.memories, counted_at = EXCLUDED.counted_at, failed_at = NULL
RETURNING project.memories;

-- name: put_off
-- $1 project uuid
INSERT INTO memhub.counted_projects (project_id, failed_at) VALUES ($1::uuid, clock_timestamp())
ON CONFLICT (project_id) DO UPDATE SET failed_at = EXCLUDED.failed_at;
