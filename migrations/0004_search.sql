-- The search projection: a row for each memory that may be found, and no others.
-- A retired memory cannot stand here: status is ACTIVE by its check, and the foreign key asks that the lifecycle
-- row agrees about revision and status when the transaction commits.
CREATE TABLE memhub.live_memories (
    project_id    uuid NOT NULL,
    memory_id     uuid NOT NULL,
    revision_no   integer NOT NULL,
    status        text NOT NULL DEFAULT 'ACTIVE' CHECK (status = 'ACTIVE'),
    scope_key     text COLLATE "C" NOT NULL,  -- the conversation, or '' for the whole project
    content_hash  bytea NOT NULL,
    document      tsvector NOT NULL,
    type          text NOT NULL,
    tags          text[] NOT NULL,
    importance    smallint,
    expires_at    timestamptz,
    author_client text NOT NULL,
    author_kind   text NOT NULL,
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz NOT NULL,
    -- One row a memory, since its lifecycle row has one revision_no. What is included lets the vector leg look at the
    -- index alone to see whether a caller may find the memory.
    PRIMARY KEY (project_id, memory_id, revision_no) INCLUDE (status, scope_key, expires_at, type),
    CONSTRAINT live_memories_task_expires CHECK (type <> 'TASK' OR expires_at IS NOT NULL),
    CONSTRAINT live_memories_content UNIQUE (content_hash, project_id, scope_key),
    CONSTRAINT live_memories_is_active FOREIGN KEY (project_id, memory_id, revision_no, status)
        REFERENCES memhub.memories (project_id, id, revision_no, status) DEFERRABLE INITIALLY DEFERRED
);

ALTER TABLE memhub.live_memories ADD CONSTRAINT live_memories_clock CHECK (memhub.time_holds(updated_at)) NOT VALID;

-- fastupdate off: a pending list made queries jump from 0.36 to 1.19 ms after 4,000 inserts.
CREATE INDEX live_memories_document ON memhub.live_memories USING gin (document) WITH (fastupdate = off);
-- But an import writes many rows at a time: merged 4 MB at a time, their words took 80 µs a memory and not 350. Until then a
-- search reads those 4 MB too. Who gathers holds a lock as long as the session, so that the end of one import does not
-- settle for another, and the fleet can tell what a killed one left.
-- The change needs the index alone for a moment, and whoever waits for that stops all others: where it is not had at
-- once, an import goes on without, and what is to be settled stays for the next who tries.
CREATE FUNCTION memhub.gather_words() RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog SET lock_timeout = '200ms' AS $$
BEGIN
    PERFORM pg_try_advisory_lock_shared(hashtextextended('memhub.gather_words', 0));
    ALTER INDEX memhub.live_memories_document SET (fastupdate = on);
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    RETURN false;
END
$$;

-- False when there was nothing to settle, somebody gathers still, or the index was not to be had.
CREATE FUNCTION memhub.settle_words() RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog SET lock_timeout = '200ms' AS $$
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('memhub.gather_words', 0)) OR EXISTS (
        SELECT FROM pg_class
        WHERE oid = 'memhub.live_memories_document'::regclass AND 'fastupdate=off' = ANY (reloptions)) THEN
        RETURN false;
    END IF;
    ALTER INDEX memhub.live_memories_document SET (fastupdate = off);
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    RETURN false;
END
$$;

-- In a transaction of its own: it takes seconds for what an import gathered, and a settling holds the index to itself.
CREATE FUNCTION memhub.merge_words() RETURNS bigint LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog
    RETURN gin_clean_pending_list('memhub.live_memories_document');

REVOKE EXECUTE ON FUNCTION memhub.gather_words(), memhub.settle_words(), memhub.merge_words() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION memhub.gather_words() TO memhub_operator;
GRANT EXECUTE ON FUNCTION memhub.settle_words(), memhub.merge_words() TO memhub_server, memhub_operator;

CREATE INDEX live_memories_newest ON memhub.live_memories (project_id, created_at DESC, memory_id)
    WHERE status = 'ACTIVE';
CREATE INDEX live_memories_expiring ON memhub.live_memories (expires_at) WHERE expires_at IS NOT NULL;

-- What retrieval reads: expiry needs no reaper to be true. The status, always true, opens the partial index above.
CREATE VIEW memhub.searchable_memories AS
    SELECT project_id, memory_id, revision_no, scope_key, content_hash, document, type, tags, importance,
           expires_at, author_client, author_kind, created_at, updated_at
    FROM memhub.live_memories
    WHERE status = 'ACTIVE' AND (expires_at IS NULL OR expires_at > now());

-- How many live memories of a project hold a lexeme; kept by the fleet.
CREATE TABLE memhub.term_frequencies (
    project_id uuid NOT NULL REFERENCES memhub.projects (id),
    lexeme     text COLLATE "C" NOT NULL,
    documents  integer NOT NULL CHECK (documents >= 0),
    PRIMARY KEY (project_id, lexeme)
);

-- When the term frequencies of a project were counted, and over how many live memories; since then a count may have
-- failed.
CREATE TABLE memhub.counted_projects (
    project_id uuid PRIMARY KEY REFERENCES memhub.projects (id),
    memories   integer CHECK (memories >= 0),
    counted_at timestamptz,
    failed_at  timestamptz,
    CHECK ((memories IS NULL) = (counted_at IS NULL))
);

GRANT INSERT, DELETE, UPDATE ON memhub.counted_projects TO memhub_server, memhub_operator;
