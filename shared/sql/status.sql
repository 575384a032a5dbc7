-- name: now
SELECT now();

-- name: queues
-- Jobs of memhub by queue; due are those that a worker could take now, and since when the oldest of them is.
-- $1 queues text[]
SELECT queue.name AS queue,
       count(job.id) FILTER (WHERE job.status = 'todo') AS todo,
       count(job.id) FILTER (WHERE job.status = 'doing') AS doing,
       count(job.id) FILTER (WHERE job.status = 'failed') AS failed,
       extract(epoch FROM now() - min(coalesce(job.scheduled_at, deferred.at)) FILTER (
           WHERE job.status = 'todo' AND (job.scheduled_at IS NULL OR job.scheduled_at <= now())))::float8
           AS oldest_due_age_s
FROM unnest($1::text[]) AS queue (name)
LEFT JOIN public.procrastinate_jobs AS job
    ON job.queue_name = queue.name AND job.status IN ('todo', 'doing', 'failed')
LEFT JOIN LATERAL (
    SELECT min(event.at) AS at FROM public.procrastinate_events AS event
    WHERE job.status = 'todo' AND event.job_id = job.id AND event.type = 'deferred') AS deferred ON true
GROUP BY queue.name
ORDER BY queue.name;

-- name: troubled_jobs
-- Failed for good, and failed but to run again. $1 queues text[], $2 limit int
SELECT job.id AS job_id, job.queue_name AS queue, job.task_name AS task, job.status::text AS status, job.attempts,
       error.error, error.failed_at
FROM public.procrastinate_jobs AS job
LEFT JOIN memhub.job_errors AS error ON error.job_id = job.id
WHERE job.queue_name = ANY ($1::text[])
    AND (job.status = 'failed' OR job.status IN ('todo', 'doing') AND error.job_id IS NOT NULL)
ORDER BY job.status = 'failed' DESC, job.id DESC
LIMIT $2::int;

-- name: models
-- Coverage counts what search may find: all that is live, of an index alone, without what expired and was not reaped
-- yet. Joining the live rows to their vectors took 130 ms for 100,000 of them. $1 attempts max int
SELECT model.id, model.name, model.state, model.dimension, model.floor,
       (SELECT count(*) FROM memhub.live_memories)
           - (SELECT count(*) FROM memhub.live_memories WHERE expires_at <= now()) AS searchable,
       (SELECT count(*) FROM memhub.live_vectors WHERE model_id = model.id AND chunk_no = 0)
           - (SELECT count(*) FROM memhub.live_memories AS ended
              JOIN memhub.live_vectors AS vector
                  ON vector.project_id = ended.project_id AND vector.model_id = model.id AND vector.chunk_no = 0
                  AND vector.memory_id = ended.memory_id AND vector.revision_no = ended.revision_no
              WHERE ended.expires_at <= now()) AS embedded,
       count(work.memory_id) AS waiting,
       count(work.memory_id) FILTER (WHERE work.attempts >= $1::int) AS given_up,
       max(work.error) AS error
FROM memhub.embedding_models AS model
LEFT JOIN memhub.embedding_work AS work ON work.model_id = model.id
GROUP BY model.id
ORDER BY model.id;

-- name: workers
SELECT worker.id AS worker_id, process.host, process.pid, process.queues, process.concurrency, process.started_at,
       extract(epoch FROM now() - worker.last_heartbeat)::float8 AS heartbeat_age_s,
       (SELECT count(*) FROM public.procrastinate_jobs AS job
        WHERE job.worker_id = worker.id AND job.status = 'doing') AS doing
FROM public.procrastinate_workers AS worker
LEFT JOIN memhub.fleet_workers AS process ON process.worker_id = worker.id
ORDER BY worker.id;

-- name: last_runs
SELECT DISTINCT ON (actor) actor, started_at, finished_at, outcome, details::text AS details, error
FROM memhub.fleet_runs
ORDER BY actor, id DESC;
