-- name: lock
-- A session lock, not a transaction's: each migration commits alone. $1: key text
SELECT pg_advisory_lock(hashtextextended($1::text, 0));

-- name: unlock
-- $1: key text
SELECT pg_advisory_unlock(hashtextextended($1::text, 0));

-- name: is_recorded
-- CREATE SCHEMA IF NOT EXISTS demands the CREATE privilege even where the schema stands: ask first.
SELECT to_regclass('memhub.schema_migrations') IS NOT NULL;

-- name: create_schema
CREATE SCHEMA IF NOT EXISTS memhub;

-- name: create_record
CREATE TABLE IF NOT EXISTS memhub.schema_migrations (
    version int PRIMARY KEY CHECK (version > 0),
    name text NOT NULL,
    checksum text NOT NULL CHECK (checksum ~ '^[0-9a-f]{64}$'),
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- name: recorded
SELECT version, name, checksum, applied_at FROM memhub.schema_migrations ORDER BY version;

-- name: record
-- Comes before the migration itself: a second runner waits here on the key and then fails.
-- $1: version int, $2: name text, $3: checksum text
INSERT INTO memhub.schema_migrations (version, name, checksum) VALUES ($1::int, $2::text, $3::text);

-- name: pin_search_path
-- A migration means the same whatever the role's settings; types of the extension stay in reach
-- where it was installed into a schema of its own.
SELECT set_config('search_path', concat_ws(', ', 'public', quote_ident(nspname)), true)
FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace
WHERE extname = 'vector';

-- name: vector_versions
SELECT installed_version, default_version FROM pg_available_extensions WHERE name = 'vector'
UNION ALL
SELECT extversion, NULL FROM pg_extension
WHERE extname = 'vector' AND NOT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector');

-- name: create_vector
CREATE EXTENSION IF NOT EXISTS vector;

-- name: procrastinate_state
-- `usable` names the two functions that memhub and its pinned worker call.
SELECT to_regclass('public.procrastinate_jobs') IS NOT NULL AS present,
       to_regprocedure('public.procrastinate_defer_jobs_v1(public.procrastinate_job_to_defer_v1[])') IS NOT NULL
       AND to_regprocedure('public.procrastinate_fetch_job_v2(character varying[], bigint)') IS NOT NULL AS usable;
