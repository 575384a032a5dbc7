-- name: by_id
-- $1 tenant text, $2 project uuid
SELECT id, tenant, slug, display_name FROM memhub.projects WHERE id = $2::uuid AND tenant = $1::text;

-- name: by_slug
-- $1 tenant text, $2 slug text
SELECT id, tenant, slug, display_name FROM memhub.projects WHERE tenant = $1::text AND slug = $2::text;

-- name: by_alias
-- Which project each alias leads to. $1 tenant text, $2 kinds text[], $3 values text[], pairwise
SELECT alias.kind, alias.value, project.id, project.tenant, project.slug, project.display_name
FROM unnest($2::text[], $3::text[]) AS asked (kind, value)
JOIN memhub.project_aliases AS alias
    ON alias.tenant = $1::text AND alias.kind = asked.kind AND alias.value = asked.value
JOIN memhub.projects AS project ON project.id = alias.project_id
ORDER BY project.slug, alias.kind;

-- name: list
-- $1 tenant text, $2 limit int
SELECT project.id, project.tenant, project.slug, project.display_name, project.created_at,
       ARRAY(SELECT alias.kind || ':' || alias.value FROM memhub.project_aliases AS alias
             WHERE alias.project_id = project.id ORDER BY alias.kind, alias.value LIMIT 20) AS aliases
FROM memhub.projects AS project
WHERE project.tenant = $1::text
ORDER BY project.slug
LIMIT $2::int;

-- name: owning
-- Asks each of the tenant's projects by the primary key of memories, which starts with the project.
-- A memory of another conversation is in no project.
-- $1 tenant text, $2 memory uuid, $3 the caller's conversation text
SELECT project.id, project.tenant, project.slug, project.display_name
FROM memhub.projects AS project
JOIN memhub.memories AS memory ON memory.project_id = project.id AND memory.id = $2::uuid
    AND (memory.conversation IS NULL OR memory.conversation = $3::text)
WHERE project.tenant = $1::text
ORDER BY project.id
LIMIT 1;

-- name: create
-- No row when the slug is taken, also by a writer in flight.
-- $1 project uuid, $2 tenant text, $3 slug text, $4 display name text, $5 client text, $6 request id text
WITH created AS (
    INSERT INTO memhub.projects (id, tenant, slug, display_name, created_at)
    VALUES ($1::uuid, $2::text, $3::text, $4::text, clock_timestamp())
    ON CONFLICT DO NOTHING
    RETURNING id, tenant, slug, display_name, created_at
), audited AS (
    INSERT INTO memhub.audit_events (tenant, project_id, event, client, request_id, created_at)
    SELECT tenant, id, 'project_created', $5::text, $6::text, created_at FROM created
)
SELECT id, tenant, slug, display_name FROM created;

-- name: rename
-- What is null stays. The row is locked before it is read, so that `was` is what the change replaces. A taken slug raises.
-- $1 tenant text, $2 project uuid, $3 slug text, $4 display name text, $5 client text
WITH former AS MATERIALIZED (
    SELECT id, slug, display_name FROM memhub.projects WHERE id = $2::uuid AND tenant = $1::text FOR UPDATE
), renamed AS (
    UPDATE memhub.projects AS project
    SET slug = coalesce($3::text, former.slug), display_name = coalesce($4::text, former.display_name)
    FROM former
    WHERE project.id = former.id AND (former.slug, former.display_name)
        IS DISTINCT FROM (coalesce($3, former.slug), coalesce($4, former.display_name))
    RETURNING project.id, project.tenant, project.slug, project.display_name, former.slug AS was,
              former.display_name AS was_shown
), audited AS (
    INSERT INTO memhub.audit_events (tenant, project_id, event, client, details, created_at)
    SELECT tenant, id, 'project_renamed', $5::text,
           jsonb_build_object('slug', jsonb_build_object('from', was, 'to', slug),
                              'display_name', jsonb_build_object('from', was_shown, 'to', display_name)),
           clock_timestamp()
    FROM renamed
)
SELECT id, tenant, slug, display_name, was FROM renamed;

-- name: renamed
-- The project that was the last to give this slug up. Its events that belong to no memory come by their index.
-- $1 tenant text, $2 slug text
SELECT project.id, project.tenant, project.slug, project.display_name
FROM memhub.projects AS project
JOIN memhub.audit_events AS event
    ON event.project_id = project.id AND event.memory_id IS NULL AND event.event = 'project_renamed'
WHERE project.tenant = $1::text AND event.details #>> '{slug,from}' = $2::text AND project.slug <> $2
ORDER BY event.id DESC
LIMIT 1;

-- name: add_aliases
-- $1 tenant text, $2 project uuid, $3 kinds text[], $4 values text[], pairwise, $5 client text, $6 request id text
WITH added AS (
    INSERT INTO memhub.project_aliases (tenant, kind, value, project_id, created_at)
    SELECT $1::text, asked.kind, asked.value, $2::uuid, clock_timestamp()
    FROM unnest($3::text[], $4::text[]) AS asked (kind, value)
    ORDER BY asked.kind, asked.value
    ON CONFLICT DO NOTHING
    RETURNING kind, value, created_at
)
INSERT INTO memhub.audit_events (tenant, project_id, event, client, request_id, details, created_at)
SELECT $1, $2, 'alias_added', $5::text, $6::text, jsonb_build_object('kind', kind, 'value', value), created_at
FROM added;

-- name: aliases_of
-- The asked for come first: whether they lead to the project is known whatever the limit leaves out.
-- $1 tenant text, $2 project uuid, $3 kinds text[], $4 values text[], pairwise, $5 limit int
SELECT alias.kind, alias.value
FROM memhub.project_aliases AS alias
LEFT JOIN unnest($3::text[], $4::text[]) AS asked (kind, value) USING (kind, value)
WHERE alias.tenant = $1::text AND alias.project_id = $2::uuid
ORDER BY asked.kind IS NULL, alias.kind, alias.value
LIMIT $5::int;

-- name: remove_aliases
-- What was taken away, and from which project.
-- $1 tenant text, $2 kinds text[], $3 values text[], pairwise, $4 client text
WITH removed AS (
    DELETE FROM memhub.project_aliases AS alias
    USING unnest($2::text[], $3::text[]) AS asked (kind, value)
    WHERE alias.tenant = $1::text AND alias.kind = asked.kind AND alias.value = asked.value
    RETURNING alias.kind, alias.value, alias.project_id
), audited AS (
    INSERT INTO memhub.audit_events (tenant, project_id, event, client, details, created_at)
    SELECT $1, project_id, 'alias_removed', $4::text, jsonb_build_object('kind', kind, 'value', value), clock_timestamp()
    FROM removed
)
SELECT project.slug, removed.kind, removed.value
FROM removed JOIN memhub.projects AS project ON project.id = removed.project_id
ORDER BY removed.kind;
