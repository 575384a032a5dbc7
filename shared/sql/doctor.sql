-- name: roles
-- Whether this session can act as each of the roles that the schema made.
SELECT wanted.role, to_regrole(wanted.role) IS NOT NULL AND pg_has_role(current_user, wanted.role, 'SET') AS usable
FROM (VALUES ('memhub_server'), ('memhub_operator')) AS wanted (role)
ORDER BY wanted.role;

-- name: notifying
SELECT EXISTS (
    SELECT FROM pg_trigger
    WHERE tgrelid = 'public.procrastinate_jobs'::regclass
        AND tgname = 'procrastinate_jobs_notify_queue_job_inserted_v1' AND tgenabled <> 'D'
);

-- name: durability
-- What must be on for a commit to survive a crash of the machine.
SELECT name FROM pg_settings
WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND setting = 'off'
ORDER BY name;
