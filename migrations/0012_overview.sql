-- What people look at: the retired by time, and what happened by time.
-- Partial, and retiring writes a new entry to every index of the row anyhow, since status is a key column: a write that
-- retires nothing pays nothing.
CREATE INDEX memories_retired ON memhub.memories (project_id, status, retired_at DESC, id) INCLUDE (conversation)
    WHERE status <> 'ACTIVE';

-- Only what may expire pays for it.
CREATE INDEX memory_revisions_expiring ON memhub.memory_revisions (project_id, expires_at DESC, memory_id)
    WHERE valid_to IS NULL AND expires_at IS NOT NULL;

-- Rows come in the order of their time and never change: a block range is enough.
CREATE INDEX audit_events_by_time ON memhub.audit_events USING brin (created_at) WITH (pages_per_range = 16);

-- How long tools took, as a histogram of each hour: servers add to it now and then, and take away what is old.
CREATE TABLE memhub.tool_timings (
    hour       timestamptz NOT NULL CHECK (hour = date_trunc('hour', hour, 'UTC')),
    tool       text COLLATE "C" NOT NULL CHECK (tool ~ '^[a-z_]{1,64}$'),
    bucket     smallint NOT NULL CHECK (bucket BETWEEN 0 AND 16),  -- calls of at most 2^bucket ms; the last is open
    calls      bigint NOT NULL CHECK (calls >= 0),
    failures   bigint NOT NULL CHECK (failures BETWEEN 0 AND calls),
    PRIMARY KEY (hour, tool, bucket)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON memhub.tool_timings TO memhub_server, memhub_operator;
