-- name: now
SELECT clock_timestamp();

-- name: record_run
-- $1 actor text, $2 started_at timestamptz, $3 outcome text, $4 details jsonb, $5 error text
INSERT INTO memhub.fleet_runs (actor, started_at, finished_at, outcome, details, error)
VALUES ($1::text, $2::timestamptz, clock_timestamp(), $3::text, $4::text::jsonb, $5::text);

-- name: is_overdue
-- $1 actor text, $2 period in seconds float8
SELECT NOT EXISTS (
    SELECT FROM memhub.fleet_runs
    WHERE actor = $1::text AND outcome = 'ok'
        AND started_at > clock_timestamp() - make_interval(secs => $2::float8));

-- name: record_job_error
-- No row when the job is gone. $1 job bigint, $2 error text
INSERT INTO memhub.job_errors (job_id, error, failed_at)
SELECT id, $2::text, clock_timestamp() FROM public.procrastinate_jobs WHERE id = $1::bigint
ON CONFLICT (job_id) DO UPDATE SET error = excluded.error, failed_at = excluded.failed_at;

-- name: introduce_worker
-- $1 worker bigint, $2 host text, $3 pid int, $4 queues text[], $5 concurrency int
INSERT INTO memhub.fleet_workers (worker_id, host, pid, queues, concurrency, started_at)
SELECT id, $2::text, $3::int, $4::text[], $5::int, clock_timestamp()
FROM public.procrastinate_workers WHERE id = $1::bigint
ON CONFLICT DO NOTHING;

-- name: take_up
-- The jobs whose worker sent no heartbeat for $2 seconds or is gone. The row lock keeps two tenders apart, and a job
-- that finished meanwhile falls out: procrastinate's own get_stalled_jobs and retry_job leave a gap between reading
-- and writing in which the job may run anew.
-- $1 queues text[], $2 silence in seconds float8, $3 attempts max int, $4 rows int
WITH stalled AS MATERIALIZED (
    SELECT job.id, job.attempts + 1 < $3::int AS again
    FROM public.procrastinate_jobs AS job
    LEFT JOIN public.procrastinate_workers AS worker ON worker.id = job.worker_id
    WHERE job.status = 'doing' AND job.queue_name = ANY ($1::text[])
        AND (worker.id IS NULL OR worker.last_heartbeat < clock_timestamp() - make_interval(secs => $2::float8))
    ORDER BY job.id
    LIMIT $4::int
    FOR UPDATE OF job SKIP LOCKED
)
SELECT id, again,
       CASE WHEN again
           THEN public.procrastinate_retry_job_v2(id, clock_timestamp(), NULL, NULL, NULL)::text
           ELSE public.procrastinate_finish_job_v1(id, 'failed', false)::text END AS moved
FROM stalled;

-- name: prune_workers
-- $1 silence in seconds float8
DELETE FROM public.procrastinate_workers
WHERE last_heartbeat < clock_timestamp() - make_interval(secs => $1::float8);

-- name: due_jobs
-- $1 queues text[]
SELECT count(*) FROM public.procrastinate_jobs
WHERE status = 'todo' AND queue_name = ANY ($1::text[]) AND (scheduled_at IS NULL OR scheduled_at <= now());

-- name: wake
-- What procrastinate's insert trigger sends, for its listeners. $1 queues text[]
SELECT pg_notify('procrastinate_queue_v1#' || queue, '{"type": "job_inserted", "job_id": 0}')
FROM unnest($1::text[]) AS queue;

-- name: defer_once
-- Nothing when such a job waits already. No queueing lock: it would refuse the retry of a run that failed while the
-- next one waits. $1 queue text, $2 task text, $3 priority int
SELECT public.procrastinate_defer_jobs_v1(ARRAY[
    ROW ($1::text, $2::text, $3::int, NULL, NULL, '{"timestamp": 0}', NULL)::public.procrastinate_job_to_defer_v1])
WHERE NOT EXISTS (
    SELECT FROM public.procrastinate_jobs
    WHERE status = 'todo' AND task_name = $2 AND (scheduled_at IS NULL OR scheduled_at <= now()));
