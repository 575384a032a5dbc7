-- name: listed
-- $1 statuses text[], $2 queue text or NULL, $3 memhub's queues text[], $4 limit int
SELECT job.id AS job_id, job.queue_name AS queue, job.task_name AS task, job.status::text AS status, job.attempts,
       job.scheduled_at, error.error, error.failed_at
FROM public.procrastinate_jobs AS job
LEFT JOIN memhub.job_errors AS error ON error.job_id = job.id
WHERE job.status::text = ANY ($1::text[]) AND ($2::text IS NULL OR job.queue_name = $2)
    AND job.queue_name = ANY ($3::text[])
ORDER BY job.id DESC
LIMIT $4::int;

-- name: retry
-- Puts failed jobs back, due at once. No row for one that is not failed.
-- $1 jobs bigint[] or NULL for all, $2 memhub's queues text[], $3 limit int
WITH failed AS MATERIALIZED (
    SELECT id, queue_name FROM public.procrastinate_jobs
    WHERE status = 'failed' AND queue_name = ANY ($2::text[]) AND ($1::bigint[] IS NULL OR id = ANY ($1))
    ORDER BY id
    LIMIT $3::int
    FOR UPDATE
)
SELECT id AS job_id, queue_name AS queue,
       public.procrastinate_retry_job_v2(id, clock_timestamp(), NULL, NULL, NULL)::text AS moved
FROM failed;
