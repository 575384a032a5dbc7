-- apply: procrastinate

-- Its insert trigger notifies inside the writer's transaction, and PostgreSQL then holds one global lock to the end of
-- the commit: 32 writers made 393 writes a second with it and 2,090 without, on a disk whose fsync takes 2 ms.
-- The fleet is woken after the commit instead; the job row is the promise.
ALTER TABLE public.procrastinate_jobs DISABLE TRIGGER procrastinate_jobs_notify_queue_job_inserted_v1;
