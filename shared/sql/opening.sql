-- name: login_role
SELECT current_user AS name, has_table_privilege('memhub.memory_revisions', 'DELETE') AS may_destroy;

-- name: login
-- The role that logged in, as a statement names it, and whether the schema is its own.
SELECT quote_ident(session_user) AS name,
       EXISTS (SELECT FROM pg_namespace WHERE nspname = 'memhub' AND pg_has_role(session_user, nspowner, 'USAGE')) AS owns;
