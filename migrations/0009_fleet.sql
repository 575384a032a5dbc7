-- What the fleet writes about itself, for `memhub status`. The collector keeps it bounded.
CREATE TABLE memhub.fleet_runs (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    actor       text NOT NULL CHECK (actor ~ '^[a-z_]{1,64}$'),
    started_at  timestamptz NOT NULL,
    finished_at timestamptz NOT NULL,
    outcome     text NOT NULL CHECK (outcome IN ('ok', 'failed')),
    details     jsonb NOT NULL DEFAULT '{}',
    error       text CHECK (octet_length(error) <= 1000),
    CHECK (finished_at >= started_at),
    CHECK ((outcome = 'failed') = (error IS NOT NULL))
);

CREATE INDEX fleet_runs_by_actor ON memhub.fleet_runs (actor, id);

-- procrastinate keeps no reason of a failure; it goes with its job.
CREATE TABLE memhub.job_errors (
    job_id    bigint PRIMARY KEY REFERENCES public.procrastinate_jobs (id) ON DELETE CASCADE,
    error     text NOT NULL CHECK (octet_length(error) <= 1000),
    failed_at timestamptz NOT NULL
);

-- Which process stands behind a heartbeat.
CREATE TABLE memhub.fleet_workers (
    worker_id   bigint PRIMARY KEY REFERENCES public.procrastinate_workers (id) ON DELETE CASCADE,
    host        text NOT NULL,
    pid         integer NOT NULL,
    queues      text[] NOT NULL,
    concurrency integer NOT NULL,
    started_at  timestamptz NOT NULL
);

GRANT SELECT ON memhub.fleet_runs, memhub.job_errors, memhub.fleet_workers TO memhub_server, memhub_operator;
GRANT INSERT, DELETE ON memhub.fleet_runs, memhub.job_errors, memhub.fleet_workers TO memhub_server, memhub_operator;
GRANT UPDATE (error, failed_at) ON memhub.job_errors TO memhub_server, memhub_operator;

-- SKIP LOCKED asks for the right to update a column: two folders then take different deltas instead of waiting.
GRANT UPDATE (hits) ON memhub.counter_deltas TO memhub_server, memhub_operator;
