-- Everything that the databases of other memory servers hold, a line each, and what tells them apart. Their tables are
-- named as they name them: they have no schema of their own, so a name leads where the session's search_path does.

-- name: columns
-- $1 a table or view, with its schema or without text; no row where there is none of that name
SELECT attname FROM pg_catalog.pg_attribute
WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped
ORDER BY attnum;

-- name: first_memhub_projects
-- The first memhub kept no time at which a revision ended. Its times are of transactions: they run backwards where one
-- waited for another. What it audited beside what happened (replays, conflicts) stays there.
-- $1 the tenant to import into text
SELECT json_build_object(
    'kind', 'project', 'id', project.id, 'tenant', $1::text, 'slug', project.slug,
    'display_name', project.display_name, 'created_at', project.created_at,
    'aliases', (
        SELECT coalesce(json_agg(json_build_object(
            'kind', alias.kind, 'value', alias.value_norm, 'created_at', alias.created_at)
            ORDER BY alias.kind, alias.value_norm), '[]')
        FROM project_aliases AS alias WHERE alias.project_id = project.id),
    'events', (
        SELECT coalesce(json_agg(json_build_object(
            'event', 'purged', 'client', event.actor_client, 'request_id', event.request_id,
            'details', CASE jsonb_typeof(event.detail) WHEN 'object' THEN event.detail ELSE '{}' END
                || jsonb_build_object('memory_id', event.memory_id), 'at', event.at)
            ORDER BY event.id), '[]')
        FROM audit_events AS event
        WHERE event.project_id = project.id AND event.action = 'purge' AND event.outcome = 'ok')
    )::text AS line
FROM projects AS project ORDER BY project.slug;

-- name: first_memhub_memories
-- Newest first, so that what superseded comes before what it superseded.
SELECT json_build_object(
    'kind', 'memory', 'id', memory.id, 'project', memory.project_id, 'conversation', NULL,
    'status', memory.status, 'created_at', said.first, 'retired_at', said.ended,
    'retired_by', CASE WHEN said.ended IS NOT NULL THEN 'client' END,
    'superseded_by', CASE WHEN memory.status = 'SUPERSEDED' THEN memory.superseded_by_id END,
    'revisions', said.revisions,
    'attestations', (
        SELECT coalesce(json_agg(json_build_object(
            'revision', coalesce(held.revision_no, 1), 'author_client', attested.client_name,
            'author_conversation', NULL,
            'author_kind', CASE WHEN held.author_client = attested.client_name THEN held.author_kind ELSE 'agent' END,
            'type', memory.type, 'category', NULL, 'tags', coalesce(held.tags, '{}'), 'importance', memory.importance,
            'expires_at', memory.expires_at,
            'source', CASE WHEN held.author_client = attested.client_name THEN held.source END,
            'created_at', greatest(attested.first_seen_at, said.first)) ORDER BY attested.first_seen_at,
            attested.client_name), '[]')
        FROM memory_attestations AS attested
        LEFT JOIN LATERAL (
            SELECT * FROM memory_revisions AS revision
            WHERE revision.memory_id = memory.id AND revision.created_at <= attested.first_seen_at
            ORDER BY revision.revision_no DESC LIMIT 1) AS held ON true
        WHERE attested.memory_id = memory.id),
    'events', (
        SELECT coalesce(json_agg(json_build_object(
            'event', told.event, 'revision', coalesce(event.revision_no, memory.current_revision_no), 'scope_key', '',
            'client', event.actor_client, 'request_id', event.request_id, 'details', event.detail, 'at', event.at)
            ORDER BY event.id), '[]')
        FROM audit_events AS event
        JOIN (VALUES ('remember', 'ok', 'remembered'), ('remember', 'dedup', 'attested'), ('revise', 'ok', 'revised'),
                     ('supersede', 'ok', 'superseded'), ('forget', 'ok', 'forgotten'))
            AS told (action, outcome, event) USING (action, outcome)
        WHERE event.memory_id = memory.id)
    )::text AS line
FROM memories AS memory
CROSS JOIN LATERAL (
    SELECT json_agg(json_build_object(
               'revision', revision_no, 'origin', CASE revision_no WHEN 1 THEN 'remember' ELSE 'revise' END,
               'content', content, 'type', memory.type, 'category', NULL, 'tags', tags, 'importance', memory.importance,
               'expires_at', memory.expires_at, 'author_client', author_client, 'author_conversation', NULL,
               'author_kind', author_kind, 'source', source, 'reason', change_reason, 'valid_from', since,
               'valid_to', coalesce(until, ended), 'purged_at', NULL) ORDER BY revision_no) AS revisions,
           min(since) AS first, max(ended) AS ended
    FROM (
        SELECT ordered.*, lead(since) OVER later AS until,
               CASE WHEN memory.status <> 'ACTIVE' AND lead(since) OVER later IS NULL
                    THEN greatest(memory.superseded_at, memory.deleted_at, since) END AS ended
        FROM (
            SELECT *, max(created_at) OVER (ORDER BY revision_no) AS since
            FROM memory_revisions WHERE memory_id = memory.id) AS ordered
        WINDOW later AS (ORDER BY revision_no)) AS revision) AS said
ORDER BY said.first DESC, memory.id;

-- name: mcp_memory
SELECT jsonb_build_object(
    'tenant_id', tenant_id, 'id', id, 'content', content, 'memory_type', memory_type, 'category', category,
    'tags', tags, 'created_at', created_at, 'scope', scope, 'conversation', conversation)::text AS line
FROM memories ORDER BY tenant_id, id;

-- name: mcp_memory_before
-- Of 0.8, whose metadata is that of its vectors in S3.
SELECT jsonb_build_object('tenant_id', tenant_id, 'id', id, 'metadata', metadata)::text AS line
FROM memories ORDER BY tenant_id, id;

-- name: memory_mcp_paths
SELECT jsonb_build_object(
    'id', memory.id, 'category', memory.category_path::text, 'content', memory.content, 'metadata', memory.metadata,
    'created_at', memory.created_at, 'updated_at', memory.updated_at,
    'retired_at', CASE WHEN memory.supersedes_id IS NULL THEN memory.archived_at ELSE memory.updated_at END,
    'superseded_by', successor.id, 'successor_category', successor.category_path::text)::text AS line
FROM memories AS memory
-- Named the other way round: it stands in what was replaced. Words that came back name an older memory, or themselves:
-- of such a ring, which has nothing live, the last is ended and follows nothing.
LEFT JOIN memories AS successor
    ON successor.id = memory.supersedes_id AND successor.id <> memory.id AND successor.created_at >= memory.created_at
ORDER BY memory.created_at DESC, memory.id;

-- name: memory_mcp_environments
SELECT jsonb_build_object(
    'environment', environment.name, 'id', memory.id, 'kind', memory.kind, 'status', memory.status,
    'title', memory.title, 'body', memory.body, 'salience', memory.salience,
    'steps', to_jsonb(memory) -> 'steps', 'decision_meta', to_jsonb(memory) -> 'decision_meta',
    'tags', (SELECT coalesce(jsonb_agg(tag.name ORDER BY tag.name), '[]')
             FROM memory_tags AS tagged JOIN tags AS tag ON tag.id = tagged.tag_id WHERE tagged.memory_id = memory.id),
    'author', (SELECT agent.name FROM memory_sources AS source JOIN agents AS agent ON agent.id = source.agent_id
               WHERE source.memory_id = memory.id ORDER BY source.created_at, source.id LIMIT 1),
    'created_at', memory.created_at, 'expires_at', memory.expires_at,
    'superseded_by', (SELECT successor.id FROM memories AS successor
                      WHERE successor.id = memory.superseded_by AND successor.env_id = memory.env_id),
    'retired_at', CASE WHEN memory.status NOT IN ('active', 'stale') THEN coalesce((
            SELECT min(lineage.created_at) FROM memory_lineage AS lineage
            WHERE lineage.parent_memory_id = memory.id AND lineage.relation = 'supersedes'
                AND memory.status = 'superseded'), memory.updated_at) END)::text AS line
FROM memories AS memory JOIN environments AS environment ON environment.id = memory.env_id
ORDER BY environment.name, memory.created_at DESC, memory.id;
