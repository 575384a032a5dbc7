-- One of each: two projects of two tenants, and a memory in every state that a memory can be in.
BEGIN;
INSERT INTO memhub.projects (id, tenant, slug, created_at)
VALUES ($here, 'acme', 'here', now()), ($there, 'other', 'there', now());

CREATE TEMP TABLE said ON COMMIT DROP AS
SELECT * FROM (VALUES
    ($here, $active, NULL, 'FACT', 'the first words', NULL),
    ($here, $other, NULL, 'FACT', 'what replaced the rest', NULL),
    ($here, $superseded, NULL, 'FACT', 'replaced by a client', NULL),
    ($here, $judged, NULL, 'FACT', 'replaced by a judge', NULL),
    ($here, $deleted, NULL, 'FACT', 'forgotten', NULL),
    ($here, $task, NULL, 'TASK', 'something to do', now() + interval '7 days'),
    ($here, $private, 'talk-1', 'FACT', 'only here', NULL),
    ($there, $foreign, NULL, 'FACT', 'the first words', NULL)
) AS said (project_id, id, conversation, type, content, expires_at);

INSERT INTO memhub.memories (project_id, id, conversation, created_at)
SELECT project_id, id, conversation, now() FROM said;
INSERT INTO memhub.memory_revisions (
    project_id, memory_id, revision_no, origin, content, content_hash, document, type, expires_at, author_client,
    author_kind, valid_from)
SELECT project_id, id, 1, 'remember', content, sha256(content::bytea), to_tsvector('english', content), type,
       expires_at, 'cursor', 'agent', now()
FROM said;
INSERT INTO memhub.live_memories (
    project_id, memory_id, revision_no, scope_key, content_hash, document, type, tags, expires_at, author_client,
    author_kind, created_at, updated_at)
SELECT project_id, id, 1, coalesce(conversation, ''), sha256(content::bytea), to_tsvector('english', content), type,
       '{}', expires_at, 'cursor', 'agent', now(), now()
FROM said;
INSERT INTO memhub.attestations (
    project_id, memory_id, revision_no, author_client, author_kind, type, expires_at, created_at)
SELECT project_id, id, 1, 'cursor', 'agent', type, expires_at, now() FROM said;
INSERT INTO memhub.audit_events (tenant, project_id, memory_id, revision_no, event, client, created_at)
SELECT tenant, project_id, said.id, 1, 'remembered', 'cursor', now()
FROM said JOIN memhub.projects ON projects.id = project_id;
INSERT INTO memhub.embedding_models (name, dimension, floor, state, created_at)
VALUES ('small', 3, 0.3, 'current', now());
INSERT INTO memhub.live_vectors (project_id, memory_id, revision_no, model_id, dimension, chunk_no, embedding)
SELECT project_id, id, 1, 1, 3, 0, '[1,0,0]' FROM said;
INSERT INTO memhub.embedding_work (project_id, memory_id, revision_no, model_id) VALUES ($here, $active, 1, 1);
INSERT INTO memhub.idempotency_keys (project_id, key, fingerprint, response, created_at)
VALUES ($here, 'settled-key', sha256('request'), jsonb_build_object('memory_id', $active, 'revision', 1), now());
INSERT INTO memhub.project_aliases (tenant, kind, value, project_id, created_at)
VALUES ('acme', 'git_remote', 'example.org/here', $here, now());
COMMIT;

BEGIN;
UPDATE memhub.memories SET status = 'SUPERSEDED', superseded_by = $other, retired_by = 'client', retired_at = now()
WHERE id = $superseded;
UPDATE memhub.memories SET status = 'SUPERSEDED', superseded_by = $other, retired_by = 'judge', retired_at = now()
WHERE id = $judged;
UPDATE memhub.memories SET status = 'DELETED', retired_by = 'client', retired_at = now() WHERE id = $deleted;
UPDATE memhub.memories SET revision_no = 2 WHERE id = $active;
UPDATE memhub.memory_revisions SET valid_to = now() WHERE memory_id IN ($superseded, $judged, $deleted, $active);
DELETE FROM memhub.live_memories WHERE memory_id IN ($superseded, $judged, $deleted, $active);
INSERT INTO memhub.memory_revisions (
    project_id, memory_id, revision_no, origin, content, content_hash, document, type, author_client, author_kind,
    valid_from)
VALUES ($here, $active, 2, 'revise', 'the second words', sha256('the second words'),
        to_tsvector('english', 'the second words'), 'FACT', 'claude', 'agent', now());
INSERT INTO memhub.live_memories (
    project_id, memory_id, revision_no, scope_key, content_hash, document, type, tags, author_client, author_kind,
    created_at, updated_at)
SELECT project_id, memory_id, revision_no, '', content_hash, document, type, tags, author_client, author_kind,
       (SELECT created_at FROM memhub.memories WHERE id = $active), valid_from
FROM memhub.memory_revisions WHERE memory_id = $active AND revision_no = 2;
INSERT INTO memhub.live_vectors (project_id, memory_id, revision_no, model_id, dimension, chunk_no, embedding)
VALUES ($here, $active, 2, 1, 3, 0, '[0,1,0]');
COMMIT;
