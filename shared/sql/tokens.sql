-- name: create
-- $1 id uuid, $2 tenant text, $3 project uuid, $4 name text, $5 hash bytea, $6 read only bool, $7 expires at timestamptz,
-- $8 time to live interval
WITH clock AS MATERIALIZED (
    SELECT clock_timestamp() AS at
), created AS (
    INSERT INTO memhub.api_tokens (id, tenant, project_id, name, hash, read_only, expires_at, created_at)
    SELECT $1::uuid, $2::text, $3::uuid, $4::text, $5::bytea, $6::bool, coalesce($7::timestamptz, at + $8::interval), at
    FROM clock
    RETURNING id, tenant, project_id, name, read_only, expires_at, revoked_at, last_used_at, created_at
), audited AS (
    INSERT INTO memhub.audit_events (tenant, project_id, event, client, details, created_at)
    SELECT tenant, project_id, 'token_created', 'memhub', jsonb_build_object('token', id, 'name', name), created_at
    FROM created
)
SELECT id, tenant, project_id, NULL::text AS project, name, read_only, expires_at, revoked_at, last_used_at, created_at,
       false AS expired
FROM created;

-- name: by_hash
-- $1 hash bytea
SELECT token.id, token.tenant, token.project_id, project.slug AS project, token.name, token.read_only, token.expires_at,
       token.revoked_at, token.last_used_at, token.created_at, token.expires_at <= clock_timestamp() IS TRUE AS expired,
       token.hash
FROM memhub.api_tokens AS token LEFT JOIN memhub.projects AS project ON project.id = token.project_id
WHERE token.hash = $1::bytea;

-- name: list
-- The newest first: those that were revoked long ago are the ones to be cut off.
-- $1 tenant text or NULL for all, $2 project uuid or NULL for all, $3 limit int
SELECT token.id, token.tenant, token.project_id, project.slug AS project, token.name, token.read_only, token.expires_at,
       token.revoked_at, token.last_used_at, token.created_at, token.expires_at <= clock_timestamp() IS TRUE AS expired
FROM memhub.api_tokens AS token LEFT JOIN memhub.projects AS project ON project.id = token.project_id
WHERE ($1::text IS NULL OR token.tenant = $1) AND ($2::uuid IS NULL OR token.project_id = $2)
ORDER BY token.created_at DESC, token.id
LIMIT $3::int;

-- name: revoke
-- No row when there is no such token; one revoked already keeps its instant.
-- $1 id uuid, $2 tenant text or NULL for any
WITH meant AS (
    SELECT id, name FROM memhub.api_tokens WHERE id = $1::uuid AND ($2::text IS NULL OR tenant = $2)
), revoked AS (
    UPDATE memhub.api_tokens AS token SET revoked_at = clock_timestamp()
    FROM meant
    WHERE token.id = meant.id AND token.revoked_at IS NULL
    RETURNING token.id, token.tenant, token.project_id, token.name, token.revoked_at
), audited AS (
    INSERT INTO memhub.audit_events (tenant, project_id, event, client, details, created_at)
    SELECT tenant, project_id, 'token_revoked', 'memhub', jsonb_build_object('token', id, 'name', name), revoked_at
    FROM revoked
)
SELECT meant.name, revoked.id IS NOT NULL AS is_now FROM meant LEFT JOIN revoked USING (id);

-- name: used
-- $1 ids uuid[]
UPDATE memhub.api_tokens SET last_used_at = clock_timestamp() WHERE id = ANY ($1::uuid[]);

-- name: any_exist
-- Revoked and expired ones too: a server that lost its last token must not open to everyone.
SELECT EXISTS (SELECT FROM memhub.api_tokens);
