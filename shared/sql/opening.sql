-- name: login_role
SELECT current_user AS name, has_table_privilege('memhub.memory_revisions', 'DELETE') AS may_destroy;
