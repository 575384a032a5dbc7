-- name: add
-- Sorted, so that two servers that add at once wait for each other and never in a circle.
-- $1 tools text[], $2 buckets int2[], $3 calls int[], $4 failures int[], of one length, $5 days kept int
WITH old AS (
    DELETE FROM memhub.tool_timings WHERE hour < clock_timestamp() - make_interval(days => $5::int)
)
INSERT INTO memhub.tool_timings AS timing (hour, tool, bucket, calls, failures)
SELECT date_trunc('hour', clock_timestamp(), 'UTC'), tool, bucket, calls, failures
FROM unnest($1::text[], $2::int2[], $3::int[], $4::int[]) AS added (tool, bucket, calls, failures)
ORDER BY tool, bucket
ON CONFLICT (hour, tool, bucket) DO UPDATE
SET calls = timing.calls + excluded.calls, failures = timing.failures + excluded.failures;

-- name: recent
-- $1 hours int
SELECT tool, bucket, sum(calls)::bigint AS calls, sum(failures)::bigint AS failures
FROM memhub.tool_timings
WHERE hour > clock_timestamp() - make_interval(hours => $1::int)
GROUP BY tool, bucket
ORDER BY tool, bucket;
