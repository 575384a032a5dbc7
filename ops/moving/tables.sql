-- A table or view of any database, as lines of JSON whose fields are those of ops/moving/formats/generic.

-- name: found
-- $1 a table or view, with its schema or without text; null where there is none of that name
SELECT to_regclass($1)::oid;

-- name: names
SELECT format('%I.%I', schemaname, tablename) FROM pg_catalog.pg_tables
WHERE schemaname NOT IN ('pg_catalog', 'information_schema', 'memhub')
ORDER BY 1;

-- name: rows
-- The statement that reads it, whose names PostgreSQL itself quotes. In the order of their ids, so that a line that is
-- told by its number is the same line in the next run.
-- $1 the table's oid, $2 fields text[], $3 the column of each text[], $4 the column of ids text or null
SELECT format(
    'SELECT jsonb_strip_nulls(jsonb_build_object(%s))::text FROM %s AS told%s',
    (SELECT string_agg(format('%L, told.%I', field, own), ', ') FROM unnest($2::text[], $3::text[]) AS f (field, own)),
    $1::oid::regclass,
    ' ORDER BY told.' || quote_ident($4::text));
