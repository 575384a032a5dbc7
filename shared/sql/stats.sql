-- name: groups
-- Exact counts of what the caller may see. $1 project uuid, $2 the caller's conversation text
SELECT memory.status, revision.type,
       CASE WHEN memory.conversation IS NULL THEN 'project' ELSE 'conversation' END AS scope,
       count(*) AS memories,
       count(*) FILTER (WHERE memory.status = 'ACTIVE' AND revision.expires_at <= now()) AS expired
FROM memhub.memories AS memory
JOIN memhub.memory_revisions AS revision
    ON revision.project_id = memory.project_id AND revision.memory_id = memory.id
    AND revision.revision_no = memory.revision_no
WHERE memory.project_id = $1::uuid AND (memory.conversation IS NULL OR memory.conversation = $2::text)
GROUP BY 1, 2, 3
ORDER BY 1, 2, 3;

-- name: coverage
-- Of what search may find for the caller: how many there are, and how many can be found by meaning.
-- $1 project uuid, $2 the caller's conversation text
SELECT count(*) AS searchable,
       count(*) FILTER (WHERE EXISTS (
           SELECT FROM memhub.live_vectors AS vector JOIN memhub.embedding_models AS model
               ON model.id = vector.model_id AND model.state = 'current'
           WHERE vector.project_id = live.project_id AND vector.memory_id = live.memory_id
               AND vector.revision_no = live.revision_no)) AS embedded
FROM memhub.searchable_memories AS live
WHERE live.project_id = $1::uuid AND live.scope_key IN ('', coalesce($2::text, ''));

-- name: most_used
-- $1 project uuid, $2 the caller's conversation text, $3 limit int
SELECT counter.memory_id, live.type, revision.content, counter.search_hits, counter.context_hits, counter.history_hits,
       counter.used_at
FROM memhub.memory_counters AS counter
JOIN memhub.searchable_memories AS live USING (project_id, memory_id)
JOIN memhub.memory_revisions AS revision USING (project_id, memory_id, revision_no)
WHERE counter.project_id = $1::uuid AND live.scope_key IN ('', coalesce($2::text, ''))
ORDER BY counter.search_hits + counter.context_hits + counter.history_hits DESC, counter.used_at DESC, counter.memory_id
LIMIT $3::int;

-- name: last_writes
-- $1 project uuid, $2 the caller's conversation text, $3 limit int
SELECT live.memory_id, live.revision_no AS revision, live.type, live.author_client, live.updated_at, revision.content
FROM (SELECT project_id, memory_id, revision_no, type, author_client, updated_at
      FROM memhub.searchable_memories
      WHERE project_id = $1::uuid AND scope_key IN ('', coalesce($2::text, ''))
      ORDER BY updated_at DESC, memory_id
      LIMIT $3::int) AS live
JOIN memhub.memory_revisions AS revision USING (project_id, memory_id, revision_no)
ORDER BY live.updated_at DESC, live.memory_id;
