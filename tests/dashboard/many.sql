-- As many memories as $1 says in the project $2 of the tenant $3, over ninety days, in every state: each tenth was
-- superseded by the one after it, some were forgotten or expired, a few have many revisions. Only the operator may
-- write times of the past.
BEGIN;
SET LOCAL ROLE memhub_operator;

INSERT INTO memhub.projects (id, tenant, slug, created_at) VALUES ($2, $3, 'large', clock_timestamp());

INSERT INTO memhub.embedding_models (name, dimension, floor, state, created_at)
VALUES ('packaged', 384, 0.3, 'current', clock_timestamp()) ON CONFLICT DO NOTHING;

CREATE TEMP TABLE made ON COMMIT DROP AS
SELECT number, md5($2::text || number)::uuid AS id, md5($2::text || number + 1)::uuid AS next,
       CASE WHEN number % 10 = 0 AND number < $1 THEN 'SUPERSEDED' WHEN number % 33 = 0 THEN 'DELETED' ELSE 'ACTIVE' END
           AS status,
       CASE WHEN number % 5000 = 1 THEN 200 WHEN number % 7 = 0 THEN 2 ELSE 1 END AS revisions,
       (ARRAY['DECISION', 'CONSTRAINT', 'FACT', 'FACT', 'FACT', 'TASK'])[1 + number % 6] AS type,
       ARRAY['tag-' || number % 40, 'area-' || number % 7] || CASE WHEN number % 9973 = 0 THEN ARRAY['rare'] ELSE '{}' END AS tags,
       (ARRAY['claude-code', 'cursor', 'codex'])[1 + number % 3] AS client,
       born.at, born.at + (now() - born.at) / 2 AS half
FROM generate_series(1, $1) AS number
CROSS JOIN LATERAL (SELECT now() - interval '90 days' * (1 - ((number - 1) / 7 * 7)::float8 / $1) AS at) AS born;  -- seven at an instant

INSERT INTO memhub.memories (project_id, id, status, revision_no, created_at, retired_at, retired_by, superseded_by)
SELECT $2, id, status, revisions, at, CASE WHEN status <> 'ACTIVE' THEN half END,
       CASE WHEN status <> 'ACTIVE' THEN CASE WHEN number % 50 = 0 THEN 'judge' ELSE 'client' END END,
       CASE WHEN status = 'SUPERSEDED' THEN next END
FROM made;

CREATE TEMP TABLE said ON COMMIT DROP AS
SELECT made.number, made.id, revision, made.revisions, made.status, made.type, made.tags, made.client,
       made.at + (made.half - made.at) * ((revision - 1)::float8 / made.revisions) AS valid_from, made.half,
       format('Service %s keeps its %s in %s because module_%s asked for it, %s; see src/part_%s.py and ticket %s-%s%s',
              made.number % 321, (ARRAY['sessions', 'ledger', 'webhooks', 'exports', 'locks'])[1 + made.number % 5],
              (ARRAY['PostgreSQL', 'memory', 'Kafka', 'files', 'the cache', 'a queue'])[1 + made.number % 6],
              made.number % 1009, (ARRAY['reviewed', 'measured twice', 'agreed', 'tried in staging'])[1 + made.number % 4],
              made.number % 577, (ARRAY['OPS', 'WEB', 'DATA'])[1 + made.number % 3], made.number,
              CASE WHEN revision > 1 THEN ', revision ' || revision ELSE '' END) AS content
FROM made
CROSS JOIN LATERAL generate_series(1, made.revisions) AS revision;

INSERT INTO memhub.memory_revisions (
    project_id, memory_id, revision_no, origin, content, content_hash, document, type, tags, importance, expires_at,
    author_client, author_kind, reason, valid_from, valid_to)
SELECT $2, id, revision, CASE WHEN revision = 1 THEN 'remember' ELSE 'revise' END, content, sha256(content::bytea),
       to_tsvector('pg_catalog.english', content) || array_to_tsvector(ARRAY['!' || replace($2::text, '-', '')]), type, tags,
       CASE WHEN number % 4 = 0 THEN number % 100 END,
       CASE WHEN type = 'TASK' THEN valid_from + interval '7 days' END,
       client, 'agent', CASE WHEN revision > 1 THEN 'it moved' END, valid_from,
       CASE WHEN revision < revisions OR status <> 'ACTIVE'
           THEN coalesce(lead(valid_from) OVER (PARTITION BY id ORDER BY revision), half) END
FROM said ORDER BY id, revision;

INSERT INTO memhub.live_memories (
    project_id, memory_id, revision_no, scope_key, content_hash, document, type, tags, importance, expires_at,
    author_client, author_kind, created_at, updated_at)
SELECT $2, revision.memory_id, revision.revision_no, '', revision.content_hash, revision.document, revision.type,
       revision.tags, revision.importance, revision.expires_at, revision.author_client, revision.author_kind,
       memory.created_at, revision.valid_from
FROM memhub.memory_revisions AS revision
JOIN memhub.memories AS memory ON memory.project_id = $2 AND memory.id = revision.memory_id AND memory.status = 'ACTIVE'
WHERE revision.project_id = $2 AND revision.valid_to IS NULL
    AND (revision.expires_at IS NULL OR revision.expires_at > now() - interval '1 h');  -- what the reaper leaves

INSERT INTO memhub.live_vectors (project_id, memory_id, revision_no, model_id, dimension, chunk_no, embedding)
SELECT $2, memory_id, revision_no, model.id, 384, 0, array_fill(0.05, ARRAY[384])::halfvec
FROM memhub.live_memories, memhub.embedding_models AS model
WHERE project_id = $2 AND model.state = 'current' AND get_byte(content_hash, 0) > 5;

INSERT INTO memhub.embedding_work (project_id, memory_id, revision_no, model_id, attempts, error)
SELECT $2, memory_id, revision_no, model.id, get_byte(content_hash, 1) % 7, 'EMBEDDING_TIMEOUT: 10 s'
FROM memhub.live_memories, memhub.embedding_models AS model
WHERE project_id = $2 AND model.state = 'current' AND get_byte(content_hash, 0) <= 5;

INSERT INTO memhub.attestations (project_id, memory_id, revision_no, author_client, author_kind, type, tags, expires_at, created_at)
SELECT $2, id, 1, client, 'agent', type, tags, CASE WHEN type = 'TASK' THEN now() END, valid_from FROM said WHERE revision = 1;

INSERT INTO memhub.audit_events (tenant, project_id, memory_id, revision_no, event, client, details, created_at)
SELECT $3, $2, id, revision, event, client, details, at
FROM (
    SELECT id, revision, CASE WHEN revision = 1 THEN 'remembered' ELSE 'revised' END AS event, client, '{}'::jsonb AS details,
           valid_from AS at FROM said
    UNION ALL
    SELECT id, revision_no, CASE status WHEN 'SUPERSEDED' THEN 'superseded' ELSE 'forgotten' END, 'cursor', '{}', retired_at
    FROM memhub.memories WHERE project_id = $2 AND status <> 'ACTIVE'
) AS happened
ORDER BY at;
COMMIT;

ANALYZE;
