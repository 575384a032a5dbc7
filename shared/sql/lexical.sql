-- name: tsqueries
-- What a query asks as tsqueries: any of its terms, all of them, each of them with its number; NULL when it asks
-- nothing. Only words of
-- letters reach the parser and lexemes hold no blank, quote or backslash (shared/text), so none of it is syntax.
-- Text built here and cast is safe for that reason; there is no aggregate over tsqueries.
-- $1 int[]: the number of each alternative's term
-- $2 text[]: its words, joined by blanks
-- $3 text[]: its exact lexemes, joined by blanks
WITH alternatives AS (
    SELECT term, concat_ws(
        ' & ',
        CASE WHEN words <> '' THEN nullif(plainto_tsquery('pg_catalog.english', words)::text, '') END,
        CASE WHEN lexemes <> '' THEN '''' || replace(lexemes, ' ', ''' & ''') || '''' END
    ) AS query
    FROM unnest($1::int[], $2::text[], $3::text[]) AS asked (term, words, lexemes)
), terms AS (
    SELECT term, '(' || string_agg(query, ' | ') || ')' AS query
    FROM alternatives
    WHERE query <> ''
    GROUP BY term
)
SELECT string_agg(query, ' | ' ORDER BY term)::tsquery AS any_term,
       string_agg(query, ' & ' ORDER BY term)::tsquery AS all_terms,
       array_agg(query ORDER BY term) AS each_term,
       array_agg(term ORDER BY term) AS numbers
FROM terms
