-- name: takes_no_writes
SELECT current_setting('transaction_read_only') = 'on';

-- name: fleet_is_alive
-- $1 silence in seconds float8
SELECT EXISTS (
    SELECT FROM public.procrastinate_workers
    WHERE last_heartbeat >= clock_timestamp() - make_interval(secs => $1::float8)
);
