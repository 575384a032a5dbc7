-- name: tell
-- An event of no project: what an operator did with the whole database.
-- $1 tenant text, $2 event text, $3 client text, $4 details jsonb
INSERT INTO memhub.audit_events (tenant, event, client, details, created_at)
VALUES ($1::text, $2::text, $3::text, $4::text::jsonb, clock_timestamp());

-- name: create_server_role
-- Roles belong to the cluster and not to the database: a dump names them and does not make them.
CREATE ROLE memhub_server NOLOGIN;

-- name: create_operator_role
CREATE ROLE memhub_operator NOLOGIN;

-- name: lend_transaction_ids
GRANT UPDATE (transaction_id) ON memhub.audit_events TO memhub_operator;

-- name: unguard_events
ALTER TABLE memhub.audit_events DISABLE TRIGGER audit_events_guard;

-- name: act_as_operator
-- Its role is what the checks of times let pass.
SET LOCAL ROLE memhub_operator;

-- name: release_events
-- A new cluster begins to count its transactions anew: events of later numbers would look as if still under way, and a
-- reader of the feed would wait for them.
UPDATE memhub.audit_events SET transaction_id = pg_current_xact_id() WHERE transaction_id > pg_current_xact_id();

-- name: act_as_owner
RESET ROLE;

-- name: guard_events
ALTER TABLE memhub.audit_events ENABLE TRIGGER audit_events_guard;

-- name: take_transaction_ids_back
REVOKE UPDATE (transaction_id) ON memhub.audit_events FROM memhub_operator;

-- name: forget_workers
-- The processes of the database that was backed up are not here; a heartbeat of a minute ago would look alive.
-- Their jobs keep their state without a worker, which the tender takes up.
DELETE FROM public.procrastinate_workers;

-- name: analyze
ANALYZE;

-- name: memories
SELECT count(*) FROM memhub.memories;

-- name: tenants_with
-- The tenants that have a project of this name. $1 slug or uuid text, $2 limit int
SELECT tenant FROM memhub.projects WHERE slug = $1::text OR id::text = $1::text ORDER BY tenant LIMIT $2::int;

-- name: tenants
-- The tenants that have projects, the one that is asked for first. $1 tenant text, $2 limit int
SELECT tenant FROM memhub.projects GROUP BY tenant ORDER BY tenant <> $1::text, tenant LIMIT $2::int;
