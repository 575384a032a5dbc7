-- name: claim
-- Waits by itself for an owner in flight and claims after its rollback; no row means that the key is taken.
-- $1 project uuid, $2 key text, $3 fingerprint bytea
INSERT INTO memhub.idempotency_keys (project_id, key, fingerprint, created_at)
VALUES ($1::uuid, $2::text, $3::bytea, clock_timestamp())
ON CONFLICT DO NOTHING
RETURNING key;

-- name: stored
-- A statement after `claim`, so that it sees what the owner committed.
-- $1 project uuid, $2 key text
SELECT fingerprint, response::text AS response
FROM memhub.idempotency_keys
WHERE project_id = $1::uuid AND key = $2::text;

-- name: settle
-- $1 project uuid, $2 key text, $3 response jsonb
UPDATE memhub.idempotency_keys SET response = $3::text::jsonb
WHERE project_id = $1::uuid AND key = $2::text;

-- name: release
-- Nothing was written under this key: the same request may come again and be judged anew.
-- $1 project uuid, $2 key text
DELETE FROM memhub.idempotency_keys WHERE project_id = $1::uuid AND key = $2::text;
