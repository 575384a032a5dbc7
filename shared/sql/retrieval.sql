-- name: lexical
-- The live memories of a project that share a term with the query, those that share most of them first. The project's
-- lexeme stands in the tsquery, so that one GIN scan serves one project. Content is read for the rows shown only.
-- $1 project uuid, $2 the caller's conversation text, $3 any-term tsquery text, $4 the tsquery of each term text[],
-- $5 types text[], $6 tags text[], $7 every tag boolean, $8 limit int
WITH found AS MATERIALIZED (
    SELECT memory.memory_id, memory.revision_no, memory.type, memory.tags, memory.author_client, memory.created_at,
           memory.updated_at,
           ARRAY(SELECT term.ordinality::int FROM unnest($4::text[]) WITH ORDINALITY AS term (query, ordinality)
                 WHERE memory.document @@ term.query::tsquery ORDER BY term.ordinality) AS matched,
           ts_rank(memory.document, $3::text::tsquery) AS rank
    FROM memhub.searchable_memories AS memory
    WHERE memory.document @@ $3::text::tsquery AND memory.project_id = $1::uuid
        AND (memory.scope_key = '' OR memory.scope_key = $2::text)
        AND ($5::text[] IS NULL OR memory.type = ANY ($5))
        AND (cardinality($6::text[]) = 0 OR CASE WHEN $7::boolean THEN memory.tags @> $6 ELSE memory.tags && $6 END)
), shown AS (
    SELECT memory_id, revision_no, type, tags, author_client, created_at, updated_at, matched, rank
    FROM found
    ORDER BY cardinality(matched) DESC, rank DESC, updated_at DESC, memory_id
    LIMIT $8::int
)
SELECT shown.memory_id, shown.revision_no AS revision, shown.type, revision.content, shown.tags, shown.author_client,
       shown.created_at, shown.updated_at, shown.matched, shown.rank
FROM shown JOIN memhub.memory_revisions AS revision
    ON revision.project_id = $1 AND revision.memory_id = shown.memory_id AND revision.revision_no = shown.revision_no
ORDER BY cardinality(shown.matched) DESC, shown.rank DESC, shown.updated_at DESC, shown.memory_id;

-- name: lexical_as_of
-- The same over what was live at an instant: the revision that was open then, judged with that instant's expiry.
-- $1 project uuid, $2 the caller's conversation text, $3 any-term tsquery text, $4 the tsquery of each term text[],
-- $5 types text[], $6 tags text[], $7 every tag boolean, $8 limit int, $9 instant timestamptz
SELECT memory_id, revision_no AS revision, type, content, tags, author_client, created_at, updated_at, matched, rank
FROM (
    SELECT revision.memory_id, revision.revision_no, revision.type, revision.content, revision.tags,
           revision.author_client, memory.created_at, revision.valid_from AS updated_at,
           ARRAY(SELECT term.ordinality::int FROM unnest($4::text[]) WITH ORDINALITY AS term (query, ordinality)
                 WHERE revision.document @@ term.query::tsquery ORDER BY term.ordinality) AS matched,
           ts_rank(revision.document, $3::text::tsquery) AS rank
    FROM memhub.memory_revisions AS revision
    JOIN memhub.memories AS memory ON memory.project_id = revision.project_id AND memory.id = revision.memory_id
    WHERE revision.project_id = $1::uuid AND revision.document @@ $3::text::tsquery
        AND revision.valid_from <= $9::timestamptz AND (revision.valid_to IS NULL OR revision.valid_to > $9)
        AND (revision.expires_at IS NULL OR revision.expires_at > $9)
        AND (memory.conversation IS NULL OR memory.conversation = $2::text)
        AND ($5::text[] IS NULL OR revision.type = ANY ($5))
        AND (cardinality($6::text[]) = 0
             OR CASE WHEN $7::boolean THEN revision.tags @> $6 ELSE revision.tags && $6 END)
) AS found
ORDER BY cardinality(matched) DESC, rank DESC, updated_at DESC, memory_id
LIMIT $8::int;

-- name: newest
-- A page of what is live, newest first; the cursor names the last row of the page before.
-- $1 project uuid, $2 the caller's conversation text, $3 types text[], $4 tags text[], $5 every tag boolean,
-- $6 limit int, $7 created before timestamptz, $8 of those created at it, ids after uuid
SELECT live.memory_id, live.revision_no AS revision, live.type, revision.content, live.tags, live.author_client,
       live.created_at, live.updated_at
FROM memhub.searchable_memories AS live
JOIN memhub.memory_revisions AS revision
    ON revision.project_id = live.project_id AND revision.memory_id = live.memory_id
    AND revision.revision_no = live.revision_no
WHERE live.project_id = $1::uuid AND (live.scope_key = '' OR live.scope_key = $2::text)
    AND ($3::text[] IS NULL OR live.type = ANY ($3))
    AND (cardinality($4::text[]) = 0 OR CASE WHEN $5::boolean THEN live.tags @> $4 ELSE live.tags && $4 END)
    AND ($7::timestamptz IS NULL OR live.created_at < $7 OR live.created_at = $7 AND live.memory_id > $8::uuid)
ORDER BY live.created_at DESC, live.memory_id
LIMIT $6::int;

-- name: newest_as_of
-- The same over what was live at an instant.
-- $1 project uuid, $2 the caller's conversation text, $3 types text[], $4 tags text[], $5 every tag boolean,
-- $6 limit int, $7 created before timestamptz, $8 of those created at it, ids after uuid, $9 instant timestamptz
SELECT revision.memory_id, revision.revision_no AS revision, revision.type, revision.content, revision.tags,
       revision.author_client, memory.created_at, revision.valid_from AS updated_at
FROM memhub.memories AS memory
JOIN memhub.memory_revisions AS revision
    ON revision.project_id = memory.project_id AND revision.memory_id = memory.id
WHERE memory.project_id = $1::uuid AND (memory.conversation IS NULL OR memory.conversation = $2::text)
    AND revision.content IS NOT NULL
    AND revision.valid_from <= $9::timestamptz AND (revision.valid_to IS NULL OR revision.valid_to > $9)
    AND (revision.expires_at IS NULL OR revision.expires_at > $9)
    AND ($3::text[] IS NULL OR revision.type = ANY ($3))
    AND (cardinality($4::text[]) = 0 OR CASE WHEN $5::boolean THEN revision.tags @> $4 ELSE revision.tags && $4 END)
    AND ($7::timestamptz IS NULL OR memory.created_at < $7 OR memory.created_at = $7 AND memory.id > $8::uuid)
ORDER BY memory.created_at DESC, memory.id
LIMIT $6::int;

-- name: coverage
-- The share of what the caller can find that has a vector of the current model; NULL where nothing is stored.
-- $1 project uuid, $2 the caller's conversation text
SELECT count(*) AS memories,
       count(*) FILTER (WHERE EXISTS (
           SELECT FROM memhub.live_vectors AS vector
           JOIN memhub.embedding_models AS model ON model.id = vector.model_id AND model.state = 'current'
           WHERE vector.project_id = live.project_id AND vector.memory_id = live.memory_id
               AND vector.revision_no = live.revision_no)) AS embedded
FROM memhub.searchable_memories AS live
WHERE live.project_id = $1::uuid AND (live.scope_key = '' OR live.scope_key = $2::text);
