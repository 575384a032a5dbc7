-- name: asked
-- What a query asks: any of its terms within the project, and each of them with the live memories that hold it; the
-- model that its vector must be of, and how much is stored. Only what the caller may see is counted: the score of a
-- search would tell otherwise which words another conversation holds. Only words of letters reach the parser and lexemes
-- hold no blank, quote or backslash (shared/text), so text built here and cast is no syntax.
-- Frequencies that the fleet counted, of what the whole project sees, are read where a term is frequent by them; a rare or
-- an uncounted term is counted here, which is cheap by the index and knows what was written a moment ago. So are memories.
-- A vector whose model was switched away meanwhile still finds its own, which stand until they are collected.
-- $1 project uuid, $2 the project's lexeme text, $3 the number of each alternative's term int[],
-- $4 its words, joined by blanks text[], $5 its exact lexemes, joined by blanks text[], $6 rows counted at most int,
-- $7 the name of the model that the query's vector is of text, $8 the caller's conversation text
WITH alternatives AS MATERIALIZED (
    SELECT term, tsvector_to_array(to_tsvector('pg_catalog.english', words))
           || array_remove(string_to_array(lexemes, ' '), '') AS lexemes, concat_ws(
               ' & ',
               CASE WHEN words <> '' THEN nullif(plainto_tsquery('pg_catalog.english', words)::text, '') END,
               CASE WHEN lexemes <> '' THEN '''' || replace(lexemes, ' ', ''' & ''') || '''' END
           ) AS query
    FROM unnest($3::int[], $4::text[], $5::text[]) AS asked (term, words, lexemes)
), terms AS MATERIALIZED (
    SELECT term, '(' || string_agg(query, ' | ') || ')' AS query, max(told.documents) AS told,
           CASE WHEN count(*) = 1 AND min(cardinality(lexemes)) = 1 THEN min(lexemes[1]) END AS lexeme
    FROM alternatives CROSS JOIN LATERAL (
        SELECT coalesce(min(coalesce(frequency.documents, 0)), 0) AS documents
        FROM unnest(alternatives.lexemes) AS part (lexeme)
        LEFT JOIN memhub.term_frequencies AS frequency
            ON frequency.project_id = $1::uuid AND frequency.lexeme = part.lexeme
    ) AS told
    WHERE query <> ''
    GROUP BY term
), counted AS MATERIALIZED (
    SELECT term, query, lexeme, CASE WHEN told >= $6::int THEN told ELSE (
               SELECT count(*) FROM (
                   SELECT FROM memhub.live_memories AS live
                   WHERE live.document @@ ('''' || $2::text || ''' & ' || terms.query)::tsquery
                       AND (live.scope_key = '' OR live.scope_key = $8::text)
                   LIMIT $6
               ) AS holding) END AS documents
    FROM terms
)
SELECT told.queries, told.numbers, told.lexemes, told.documents,
       CASE WHEN size.counted >= $6 THEN size.counted ELSE greatest(size.counted, (
           SELECT count(*) FROM (
               SELECT FROM memhub.live_memories
               WHERE project_id = $1 AND (scope_key = '' OR scope_key = $8) LIMIT $6) AS stored)) END AS memories,
       model.id AS model_id, model.floor
FROM (
    SELECT array_agg(query ORDER BY term) AS queries, array_agg(term ORDER BY term) AS numbers,
           array_agg(lexeme ORDER BY term) AS lexemes, array_agg(documents::int ORDER BY term) AS documents
    FROM counted
) AS told
CROSS JOIN (SELECT (SELECT memories FROM memhub.counted_projects WHERE project_id = $1) AS counted) AS size
LEFT JOIN memhub.embedding_models AS model ON model.state <> 'building' AND model.name = $7::text;

-- name: candidates
-- The best of both legs over what is live, each with the evidence of both: terms matched and cosine of its best chunk.
-- Filters come first, so both legs are complete; the project's lexeme stands in the tsquery, so that one GIN scan serves
-- one project. Terms are parsed once, not for every row. Content is not read here.
-- Of common terms only the newest rows that match are taken, at most $14.
-- The nearest chunks of the project are sought first and then whether the caller may find them, as nearly all may: to
-- join them before took 4 ms of 10 at 6,000 memories. Where a filter was given, or they give too few, all are joined.
-- A large project's vectors are compared by their signs first: the nearest $15 by Hamming distance, then exactly.
-- The vector is read from its text once: each time takes .06 ms. What $15 rules out is not materialised, nor planned whole.
-- OFFSET 0 keeps look-ups by key from becoming scans of the project: 10 and 14 ms of 55 at 10,000 memories.
-- $1 project uuid, $2 the caller's conversation text, $3 tsquery of any rare term text (NULL: none), $4 the tsquery of each
-- term text[], $5 the weight of each float8[], $6 types text[], $7 tags text[], $8 every tag boolean, $9 model int (NULL:
-- no vector), $10 vector text, $11 rows of the lexical leg int, $12 of the vector leg int, $13 tsquery of any common term
-- text (NULL: none), $14 newest rows at most int, $15 chunks of the first pass int (NULL: exact)
WITH eligible AS NOT MATERIALIZED (
    SELECT memory.memory_id, memory.revision_no, memory.document, memory.created_at, memory.updated_at
    FROM memhub.searchable_memories AS memory
    WHERE memory.project_id = $1::uuid AND (memory.scope_key = '' OR memory.scope_key = $2::text)
        AND ($6::text[] IS NULL OR memory.type = ANY ($6))
        AND (cardinality($7::text[]) = 0 OR CASE WHEN $8::boolean THEN memory.tags @> $7 ELSE memory.tags && $7 END)
), given AS MATERIALIZED (
    SELECT $10::text::halfvec AS vector
), terms AS MATERIALIZED (
    SELECT term.number::int - 1 AS place, term.query::tsquery AS query, term.weight
    FROM unnest($4::text[], $5::float8[]) WITH ORDINALITY AS term (query, weight, number)
), matching AS NOT MATERIALIZED (
    SELECT memory_id, revision_no, document, updated_at FROM eligible
    WHERE document @@ $3::text::tsquery
    UNION ALL
    SELECT memory_id, revision_no, document, updated_at
    FROM (
        SELECT memory_id, revision_no, document, updated_at FROM eligible
        WHERE document @@ $13::text::tsquery
        ORDER BY created_at DESC, memory_id
        LIMIT $14::int
    ) AS newest
    WHERE $3 IS NULL OR NOT document @@ $3::tsquery
), lexical AS MATERIALIZED (
    SELECT memory_id, revision_no
    FROM matching CROSS JOIN LATERAL (
        SELECT sum(terms.weight) AS weight FROM terms WHERE matching.document @@ terms.query) AS told
    ORDER BY told.weight DESC, matching.updated_at DESC, matching.memory_id
    LIMIT $11::int
), closest AS MATERIALIZED (
    SELECT memory_id, revision_no, embedding <#> (SELECT vector FROM given) AS distance FROM memhub.live_vectors
    WHERE $15::int IS NULL AND $6 IS NULL AND cardinality($7) = 0 AND project_id = $1 AND model_id = $9::int
    ORDER BY distance, memory_id
    LIMIT 2 * $12::int
), near AS MATERIALIZED (
    SELECT memory_id, revision_no, min(distance) AS distance
    FROM closest CROSS JOIN LATERAL (
        SELECT FROM eligible
        WHERE eligible.memory_id = closest.memory_id AND eligible.revision_no = closest.revision_no
        OFFSET 0) AS visible
    GROUP BY memory_id, revision_no
    ORDER BY min(distance), memory_id
    LIMIT $12
), coded AS NOT MATERIALIZED (
    SELECT vector.memory_id, vector.revision_no, vector.chunk_no
    FROM memhub.live_vectors AS vector CROSS JOIN LATERAL (
        SELECT FROM eligible
        WHERE eligible.memory_id = vector.memory_id AND eligible.revision_no = vector.revision_no
        OFFSET 0) AS visible
    WHERE $15 IS NOT NULL AND vector.project_id = $1 AND vector.model_id = $9
    ORDER BY hamming_distance(vector.code, binary_quantize((SELECT vector FROM given))), vector.memory_id, vector.chunk_no
    LIMIT $15
), compared AS NOT MATERIALIZED (
    SELECT vector.memory_id, vector.revision_no, vector.embedding <#> (SELECT vector FROM given) AS distance
    FROM memhub.live_vectors AS vector
    JOIN eligible ON eligible.memory_id = vector.memory_id AND eligible.revision_no = vector.revision_no
    WHERE $15 IS NULL AND (SELECT count(*) FROM near) < $12 AND vector.project_id = $1 AND vector.model_id = $9
    UNION ALL
    SELECT coded.memory_id, coded.revision_no, (
               SELECT vector.embedding <#> (SELECT vector FROM given) FROM memhub.live_vectors AS vector
               WHERE vector.project_id = $1 AND vector.model_id = $9 AND vector.memory_id = coded.memory_id
                   AND vector.revision_no = coded.revision_no AND vector.chunk_no = coded.chunk_no)
    FROM coded WHERE $15 IS NOT NULL
), nearest AS MATERIALIZED (
    SELECT memory_id, revision_no
    FROM compared
    GROUP BY memory_id, revision_no
    ORDER BY min(distance), memory_id
    LIMIT $12
), candidates AS (
    SELECT memory_id, revision_no, min(distance) AS distance
    FROM (
        SELECT memory_id, revision_no, NULL AS distance FROM lexical
        UNION ALL SELECT memory_id, revision_no, distance FROM near
        UNION ALL SELECT memory_id, revision_no, NULL FROM nearest
    ) AS found
    GROUP BY memory_id, revision_no
)
SELECT memory.memory_id, memory.revision_no AS revision, memory.updated_at,
       ARRAY(SELECT terms.place FROM terms WHERE memory.document @@ terms.query ORDER BY terms.place) AS matched,
       - coalesce(candidates.distance, (
           SELECT min(vector.embedding <#> (SELECT vector FROM given)) FROM memhub.live_vectors AS vector
           WHERE vector.project_id = $1 AND vector.model_id = $9 AND vector.memory_id = memory.memory_id
               AND vector.revision_no = memory.revision_no)) AS cosine
FROM candidates CROSS JOIN LATERAL (
    SELECT live.memory_id, live.revision_no, live.document, live.updated_at
    FROM memhub.live_memories AS live
    WHERE live.project_id = $1 AND live.memory_id = candidates.memory_id AND live.revision_no = candidates.revision_no
    OFFSET 0) AS memory;

-- name: candidates_as_of
-- The same over what was live at an instant: the revision that was open then, judged with that instant's expiry, and
-- its vectors wherever they stand now.
-- $1 to $14 as in candidates, $15 instant timestamptz
WITH eligible AS NOT MATERIALIZED (
    SELECT revision.memory_id, revision.revision_no, revision.document, revision.valid_from AS updated_at,
           memory.created_at
    FROM memhub.memory_revisions AS revision
    JOIN memhub.memories AS memory ON memory.project_id = revision.project_id AND memory.id = revision.memory_id
    WHERE revision.project_id = $1::uuid AND revision.content IS NOT NULL
        AND revision.valid_from <= $15::timestamptz AND (revision.valid_to IS NULL OR revision.valid_to > $15)
        AND (revision.expires_at IS NULL OR revision.expires_at > $15)
        AND (memory.conversation IS NULL OR memory.conversation = $2::text)
        AND ($6::text[] IS NULL OR revision.type = ANY ($6))
        AND (cardinality($7::text[]) = 0 OR CASE WHEN $8::boolean THEN revision.tags @> $7 ELSE revision.tags && $7 END)
), terms AS MATERIALIZED (
    SELECT term.number::int - 1 AS place, term.query::tsquery AS query, term.weight
    FROM unnest($4::text[], $5::float8[]) WITH ORDINALITY AS term (query, weight, number)
), vectors AS NOT MATERIALIZED (
    SELECT memory_id, revision_no, embedding FROM memhub.live_vectors WHERE project_id = $1 AND model_id = $9::int
    UNION ALL
    SELECT memory_id, revision_no, embedding FROM memhub.retired_vectors WHERE project_id = $1 AND model_id = $9
), matching AS NOT MATERIALIZED (
    SELECT memory_id, revision_no, document, updated_at FROM eligible
    WHERE document @@ $3::text::tsquery
    UNION ALL
    SELECT memory_id, revision_no, document, updated_at
    FROM (
        SELECT memory_id, revision_no, document, updated_at FROM eligible
        WHERE document @@ $13::text::tsquery
        ORDER BY created_at DESC, memory_id
        LIMIT $14::int
    ) AS newest
    WHERE $3 IS NULL OR NOT document @@ $3::tsquery
), lexical AS MATERIALIZED (
    SELECT memory_id, revision_no
    FROM matching CROSS JOIN LATERAL (
        SELECT sum(terms.weight) AS weight FROM terms WHERE matching.document @@ terms.query) AS told
    ORDER BY told.weight DESC, matching.updated_at DESC, matching.memory_id
    LIMIT $11::int
), nearest AS MATERIALIZED (
    SELECT vectors.memory_id, vectors.revision_no
    FROM vectors
    JOIN eligible ON eligible.memory_id = vectors.memory_id AND eligible.revision_no = vectors.revision_no
    GROUP BY vectors.memory_id, vectors.revision_no
    ORDER BY min(vectors.embedding <#> $10::text::halfvec), vectors.memory_id
    LIMIT $12::int
), candidates AS (
    SELECT memory_id, revision_no FROM lexical UNION SELECT memory_id, revision_no FROM nearest
)
SELECT memory.memory_id, memory.revision_no AS revision, memory.updated_at,
       ARRAY(SELECT terms.place FROM terms WHERE memory.document @@ terms.query ORDER BY terms.place) AS matched,
       (SELECT - min(vectors.embedding <#> $10::halfvec) FROM vectors
        WHERE vectors.memory_id = memory.memory_id AND vectors.revision_no = memory.revision_no) AS cosine
FROM candidates JOIN eligible AS memory
    ON memory.memory_id = candidates.memory_id AND memory.revision_no = candidates.revision_no;

-- name: formerly
-- What candidates said before: their earlier revisions, and the memories that they superseded, step by step. A question in
-- the old words finds what replaced them, and only that: what is retired gives evidence here and is never an answer.
-- Only the candidates' own past is read, by key. Bounded within the recursion and in one order, so that the cost is bounded
-- whatever the project has retired, and the same data give the same evidence: of each memory the latest that it replaced,
-- and the first of every one before the second of any, so that a great consolidation takes no other's place.
-- What belongs to another conversation gives none; of what was purged neither words nor vector are left.
-- $1 project uuid, $2 the caller's conversation text, $3 candidates uuid[], $4 their revisions int[], $5 the tsquery of each
-- term text[], $6 model int (NULL: no vector), $7 vector text, $8 steps back at most int, $9 revisions of a memory at most
-- int, $10 memories at most int, $11 that one memory superseded at most int, $12 instant timestamptz (NULL: now)
WITH RECURSIVE terms AS MATERIALIZED (
    SELECT term.number::int - 1 AS place, term.query::tsquery AS query
    FROM unnest($5::text[]) WITH ORDINALITY AS term (query, number)
), lineage AS (
    SELECT candidate.memory_id AS head, candidate.memory_id, candidate.revision_no - 1 AS last, 0 AS step,
           1::bigint AS place
    FROM unnest($3::uuid[], $4::int[]) AS candidate (memory_id, revision_no)
    UNION ALL
    SELECT further.head, further.memory_id, further.last, further.step, further.place
    FROM (
        SELECT lineage.head, older.memory_id, older.last, lineage.step + 1 AS step, older.place
        FROM lineage CROSS JOIN LATERAL (
            SELECT older.id AS memory_id, older.revision_no AS last,
                   row_number() OVER (ORDER BY older.retired_at DESC, older.id) AS place
            FROM memhub.memories AS older
            WHERE older.project_id = $1::uuid AND older.superseded_by = lineage.memory_id
                AND (older.conversation IS NULL OR older.conversation = $2::text)
                AND ($12::timestamptz IS NULL OR older.retired_at <= $12)
            ORDER BY older.retired_at DESC, older.id
            LIMIT $11::int
        ) AS older
        WHERE lineage.step < $8::int
        ORDER BY older.place, lineage.head, older.memory_id
        LIMIT $10::int
    ) AS further
)
SELECT bounded.head AS memory_id,
       ARRAY(SELECT terms.place FROM terms WHERE former.document @@ terms.query ORDER BY terms.place) AS matched,
       (SELECT - min(vector.embedding <#> $7::text::halfvec) FROM memhub.retired_vectors AS vector
        WHERE vector.project_id = $1 AND vector.model_id = $6::int AND vector.memory_id = bounded.memory_id
            AND vector.revision_no = former.revision_no) AS cosine
FROM (
    SELECT head, memory_id, last, step, place FROM lineage WHERE last > 0
    ORDER BY step, place, head, memory_id
    LIMIT $10
) AS bounded
CROSS JOIN LATERAL (
    SELECT revision.revision_no, revision.document FROM memhub.memory_revisions AS revision
    WHERE revision.project_id = $1 AND revision.memory_id = bounded.memory_id AND revision.revision_no <= bounded.last
        AND revision.content IS NOT NULL
    ORDER BY revision.revision_no DESC
    LIMIT $9::int
) AS former
ORDER BY bounded.step, bounded.place, bounded.head, bounded.memory_id, former.revision_no DESC;

-- name: shown
-- The memories that a search shows, with what they say; one that was retired since it was ranked is gone here too.
-- $1 project uuid, $2 memories uuid[], $3 their revisions int[]
SELECT live.memory_id, live.revision_no AS revision, live.type, revision.content, live.tags, live.author_client,
       live.created_at, live.updated_at
FROM unnest($2::uuid[], $3::int[]) AS wanted (memory_id, revision_no)
JOIN memhub.searchable_memories AS live
    ON live.project_id = $1::uuid AND live.memory_id = wanted.memory_id AND live.revision_no = wanted.revision_no
JOIN memhub.memory_revisions AS revision
    ON revision.project_id = $1 AND revision.memory_id = wanted.memory_id AND revision.revision_no = wanted.revision_no;

-- name: was_stored
-- Whether anything was ever stored that the caller might see: asked only where nothing can be found now.
-- $1 project uuid, $2 the caller's conversation text
SELECT EXISTS (
    SELECT FROM memhub.memories AS memory
    WHERE memory.project_id = $1::uuid AND (memory.conversation IS NULL OR memory.conversation = $2::text));

-- name: stored
-- What the caller can find, counted up to $3, and how much of it has no vector of the current model; NULL: there is no
-- such model. Beyond $3 it is told by the work that is left, since counting vectors would cost more than a search.
-- $1 project uuid, $2 the caller's conversation text, $3 memories counted at most int
WITH model AS MATERIALIZED (
    SELECT id FROM memhub.embedding_models WHERE state = 'current'
), seen AS NOT MATERIALIZED (
    SELECT live.memory_id, live.revision_no FROM memhub.searchable_memories AS live
    WHERE live.project_id = $1::uuid AND (live.scope_key = '' OR live.scope_key = $2::text)
    LIMIT $3::int
), size AS MATERIALIZED (
    SELECT count(*) AS memories FROM seen
)
SELECT size.memories, counted.memories AS memories_counted, CASE
           WHEN NOT EXISTS (SELECT FROM model) THEN NULL
           WHEN size.memories < $3 THEN (
               SELECT count(*) FROM seen WHERE NOT EXISTS (
                   SELECT FROM memhub.live_vectors AS vector
                   WHERE vector.project_id = $1 AND vector.model_id = (SELECT id FROM model)
                       AND vector.memory_id = seen.memory_id AND vector.revision_no = seen.revision_no))
           ELSE (
               SELECT count(*) FROM memhub.embedding_work AS work
               JOIN memhub.live_memories AS live USING (project_id, memory_id, revision_no)
               WHERE work.project_id = $1 AND work.model_id = (SELECT id FROM model)
                   AND (live.scope_key = '' OR live.scope_key = $2))
       END AS without_vector
FROM size LEFT JOIN memhub.counted_projects AS counted ON counted.project_id = $1;

-- name: stored_as_of
-- The same of what was live at an instant, of the first $3 of it: vectors of the past are built after those that search
-- needs now.
-- $1 project uuid, $2 the caller's conversation text, $3 memories counted at most int, $4 instant timestamptz
WITH model AS MATERIALIZED (
    SELECT id FROM memhub.embedding_models WHERE state = 'current'
), seen AS MATERIALIZED (
    SELECT revision.memory_id, revision.revision_no
    FROM memhub.memory_revisions AS revision
    JOIN memhub.memories AS memory ON memory.project_id = revision.project_id AND memory.id = revision.memory_id
    WHERE revision.project_id = $1::uuid AND revision.content IS NOT NULL
        AND revision.valid_from <= $4::timestamptz AND (revision.valid_to IS NULL OR revision.valid_to > $4)
        AND (revision.expires_at IS NULL OR revision.expires_at > $4)
        AND (memory.conversation IS NULL OR memory.conversation = $2::text)
    LIMIT $3::int
)
SELECT count(*) AS memories, NULL::int AS memories_counted, CASE WHEN EXISTS (SELECT FROM model) THEN
           count(*) FILTER (WHERE NOT EXISTS (
               SELECT FROM memhub.live_vectors AS vector
               WHERE vector.project_id = $1 AND vector.model_id = (SELECT id FROM model)
                   AND vector.memory_id = seen.memory_id AND vector.revision_no = seen.revision_no)
           AND NOT EXISTS (
               SELECT FROM memhub.retired_vectors AS vector
               WHERE vector.project_id = $1 AND vector.model_id = (SELECT id FROM model)
                   AND vector.memory_id = seen.memory_id AND vector.revision_no = seen.revision_no)) END AS without_vector
FROM seen;

-- name: shown_as_of
-- The same from the revisions, which no later write changes.
-- $1 project uuid, $2 memories uuid[], $3 their revisions int[]
SELECT revision.memory_id, revision.revision_no AS revision, revision.type, revision.content, revision.tags,
       revision.author_client, memory.created_at, revision.valid_from AS updated_at
FROM unnest($2::uuid[], $3::int[]) AS wanted (memory_id, revision_no)
JOIN memhub.memory_revisions AS revision
    ON revision.project_id = $1::uuid AND revision.memory_id = wanted.memory_id
    AND revision.revision_no = wanted.revision_no
JOIN memhub.memories AS memory ON memory.project_id = $1 AND memory.id = wanted.memory_id
WHERE revision.content IS NOT NULL;

-- name: corrections
-- Which of the proposed spellings live memories of the project hold, as the fleet counted them: no conversation's words.
-- $1 project uuid, $2 lexemes, joined by blanks text: the driver looks at each element of an array, 1 ms of 3,400
SELECT lexeme, documents FROM memhub.term_frequencies
WHERE project_id = $1::uuid AND lexeme = ANY (string_to_array($2::text, ' ')) AND documents > 0;

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

-- name: current_model
SELECT name, dimension FROM memhub.embedding_models WHERE state = 'current';

-- name: valued
-- What is most worth knowing of each type where nothing is asked: by importance, then the newest.
-- $1 project uuid, $2 the caller's conversation text, $3 types text[], $4 rows of each type int
SELECT ranked.memory_id, ranked.revision_no AS revision, ranked.type, revision.content, ranked.importance,
       ranked.updated_at, ranked.place
FROM (
    SELECT live.memory_id, live.revision_no, live.type, live.importance, live.updated_at, row_number() OVER (
               PARTITION BY live.type
               ORDER BY coalesce(live.importance, 50) DESC, live.updated_at DESC, live.memory_id) AS place
    FROM memhub.searchable_memories AS live
    WHERE live.project_id = $1::uuid AND (live.scope_key = '' OR live.scope_key = $2::text)
        AND ($3::text[] IS NULL OR live.type = ANY ($3))
) AS ranked
JOIN memhub.memory_revisions AS revision
    ON revision.project_id = $1 AND revision.memory_id = ranked.memory_id
    AND revision.revision_no = ranked.revision_no
WHERE ranked.place <= $4::int
ORDER BY ranked.type, ranked.place;

-- name: replaced_by
-- What holds now where these very words held before: the memory that was revised away from them, or what superseded it,
-- up to $5 steps on. What was forgotten has no successor.
-- $1 project uuid, $2 content hash bytea, $3 the caller's conversation text, $4 a memory that is not told uuid,
-- $5 steps int, $6 memories int
WITH RECURSIVE said AS (
    SELECT memory.id, memory.superseded_by, 0 AS steps
    FROM memhub.memory_revisions AS revision
    JOIN memhub.memories AS memory ON memory.project_id = revision.project_id AND memory.id = revision.memory_id
    WHERE revision.project_id = $1::uuid AND revision.content_hash = $2::bytea AND revision.valid_to IS NOT NULL
        AND (memory.conversation IS NULL OR memory.conversation = $3::text)
    UNION
    SELECT successor.id, successor.superseded_by, said.steps + 1
    FROM said
    JOIN memhub.memories AS successor ON successor.project_id = $1 AND successor.id = said.superseded_by
    WHERE said.steps < $5::int AND (successor.conversation IS NULL OR successor.conversation = $3)
)
SELECT DISTINCT live.memory_id, live.revision_no AS revision
FROM said JOIN memhub.live_memories AS live ON live.project_id = $1 AND live.memory_id = said.id
WHERE live.memory_id IS DISTINCT FROM $4::uuid AND live.content_hash <> $2
    AND (live.expires_at IS NULL OR live.expires_at > clock_timestamp())
ORDER BY live.memory_id
LIMIT $6::int;
