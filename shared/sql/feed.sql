-- name: snapshot
SELECT pg_current_snapshot()::text;

-- name: since
-- What became visible since a snapshot, and the snapshot to ask from next; one row without an event when nothing did.
-- Reading by id > last would lose the rows that commit late, reading below the oldest open transaction would wait for
-- it; visibility itself gives each row once, with the first look after its commit. Which rows a full answer holds does
-- not matter, since anything may have changed then: the LIMIT needs no order.
-- $1 snapshot text, $2 limit int
SELECT pg_current_snapshot()::text AS snapshot, changed.tenant, changed.project_id, changed.slug, changed.memory_id,
       changed.scope_key, changed.event, changed.former
FROM (VALUES (1)) AS once
LEFT JOIN (
    SELECT DISTINCT event.tenant, event.project_id, project.slug, event.memory_id, event.scope_key, event.event,
        CASE WHEN event.event = 'project_renamed' THEN event.details #>> '{slug,from}' END AS former
    FROM memhub.audit_events AS event LEFT JOIN memhub.projects AS project ON project.id = event.project_id
    WHERE event.transaction_id >= pg_snapshot_xmin($1::text::pg_snapshot)
        AND NOT pg_visible_in_snapshot(event.transaction_id, $1::text::pg_snapshot)
    LIMIT $2::int
) AS changed ON true;
