-- name: fleet_is_alive
-- A worker says every ten seconds that it lives.
SELECT EXISTS (
    SELECT FROM public.procrastinate_workers WHERE last_heartbeat > clock_timestamp() - interval '45 seconds'
);
