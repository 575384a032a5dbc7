-- name: resolved
-- What was superseded, newest first, with what took its place as it then was: the successor's last revision that had
-- begun, or its first, whose own clock may be read after. The rows of a project are found by the index on successors.
-- $1 project uuid, $2 the caller's conversation text, $3 limit int, $4 retired before timestamptz or NULL,
-- $5 then before memory uuid
SELECT page.id AS memory_id, said.type, said.content, page.retired_at, page.retired_by, told.client,
       told.details ->> 'reason' AS reason, page.superseded_by, page.successor_status,
       winning.revision_no AS successor_revision, winning.type AS successor_type, winning.content AS successor_content,
       winning.source AS successor_source
FROM (
    SELECT memory.id, memory.revision_no, memory.retired_at, memory.retired_by, memory.superseded_by,
           successor.status AS successor_status
    FROM memhub.memories AS memory
    JOIN memhub.memories AS successor
        ON successor.project_id = memory.project_id AND successor.id = memory.superseded_by
        AND (successor.conversation IS NULL OR successor.conversation = $2::text)
    WHERE memory.project_id = $1::uuid AND memory.superseded_by IS NOT NULL
        AND (memory.conversation IS NULL OR memory.conversation = $2)
        AND ($4::timestamptz IS NULL OR (memory.retired_at, memory.id) < ($4, $5::uuid))
    ORDER BY memory.retired_at DESC, memory.id DESC
    LIMIT $3::int
) AS page
JOIN memhub.memory_revisions AS said
    ON said.project_id = $1 AND said.memory_id = page.id AND said.revision_no = page.revision_no
CROSS JOIN LATERAL (
    SELECT revision_no, type, content, source FROM memhub.memory_revisions
    WHERE project_id = $1 AND memory_id = page.superseded_by AND (valid_from <= page.retired_at OR revision_no = 1)
    ORDER BY revision_no DESC
    LIMIT 1) AS winning
LEFT JOIN LATERAL (
    SELECT client, details FROM memhub.audit_events
    WHERE project_id = $1 AND memory_id = page.id AND event = 'superseded'
    ORDER BY id DESC
    LIMIT 1) AS told ON true
ORDER BY page.retired_at DESC, page.id DESC;
