-- What one value may be. Domains, because a table's check is read from its text and planned again by every statement that
-- writes: 35 of them were a quarter of the time of a remember, and a domain is made ready once in a session.
CREATE DOMAIN memhub.status AS text CHECK (VALUE IN ('ACTIVE', 'SUPERSEDED', 'DELETED'));
CREATE DOMAIN memhub.retirer AS text CHECK (VALUE IN ('client', 'judge'));
CREATE DOMAIN memhub.natural_number AS integer CHECK (VALUE >= 0);
CREATE DOMAIN memhub.revision_number AS integer CHECK (VALUE >= 1);
CREATE DOMAIN memhub.origin AS text CHECK (VALUE IN ('remember', 'revise', 'restore', 'import'));
CREATE DOMAIN memhub.content AS text CHECK (octet_length(VALUE) BETWEEN 1 AND 32000);
CREATE DOMAIN memhub.sha256 AS bytea CHECK (octet_length(VALUE) = 32);
CREATE DOMAIN memhub.memory_type AS text CHECK (VALUE IN ('DECISION', 'CONSTRAINT', 'FACT', 'TASK'));
CREATE DOMAIN memhub.category AS text CHECK (octet_length(VALUE) BETWEEN 1 AND 128);
CREATE DOMAIN memhub.tags AS text[] CHECK (cardinality(VALUE) <= 20);
CREATE DOMAIN memhub.importance AS smallint CHECK (VALUE BETWEEN 0 AND 100);
CREATE DOMAIN memhub.client AS text CHECK (octet_length(VALUE) BETWEEN 1 AND 512);
CREATE DOMAIN memhub.author_kind AS text CHECK (VALUE IN ('agent', 'human_confirmed', 'import'));
CREATE DOMAIN memhub.remark AS text CHECK (octet_length(VALUE) <= 1000);
-- No {1,512}: a repetition count ends at 255.
CREATE DOMAIN memhub.conversation AS text COLLATE "C" CHECK (VALUE ~ '^[\x21-\x7e]+$' AND octet_length(VALUE) <= 512);

-- The lifecycle of a memory, and nothing that it says.
CREATE TABLE memhub.memories (
    project_id    uuid NOT NULL REFERENCES memhub.projects (id),
    id            uuid NOT NULL,
    conversation  memhub.conversation,  -- NULL: the whole project's
    status        memhub.status NOT NULL DEFAULT 'ACTIVE',
    revision_no   memhub.revision_number NOT NULL DEFAULT 1,
    created_at    timestamptz NOT NULL,
    retired_at    timestamptz,
    retired_by    memhub.retirer,
    superseded_by uuid,
    -- The head of an ACTIVE memory must be an open revision, that of a retired one a closed one.
    open          boolean GENERATED ALWAYS AS (status = 'ACTIVE') STORED,
    PRIMARY KEY (project_id, id),
    CONSTRAINT memories_head UNIQUE (project_id, id, revision_no, status),
    CONSTRAINT memories_successor FOREIGN KEY (project_id, superseded_by)
        REFERENCES memhub.memories (project_id, id) DEFERRABLE INITIALLY DEFERRED,
    CONSTRAINT memories_not_own_successor CHECK (superseded_by <> id),
    -- Of a retired one, when and by whom is known; of a superseded one, and of no other, by what. In few words, because a
    -- check is read from its text by every statement that writes.
    CONSTRAINT memories_status_agrees CHECK (
        open = (retired_at IS NULL) AND open = (retired_by IS NULL) AND retired_at >= created_at
        AND (status = 'SUPERSEDED') = (superseded_by IS NOT NULL)
    )
);

-- In the order in which a search reads what a memory superseded: the latest first, however many there are.
CREATE INDEX memories_by_successor ON memhub.memories (project_id, superseded_by, retired_at DESC, id)
    WHERE superseded_by IS NOT NULL;

-- Category and tags are found by their words beside the content: nDCG@10 of the lexical leg .708 without, .786 with.
-- A function, because a revision that keeps its tags knows them only where it is written. STABLE and with no setting of its
-- own, so that it is planned as part of the statement; its body is bound when it is made and needs no search_path.
CREATE FUNCTION memhub.label_words(category text, tags text[]) RETURNS tsvector LANGUAGE sql STABLE PARALLEL SAFE
    RETURN to_tsvector('pg_catalog.english'::regconfig, translate(coalesce(category, '') || ' '
        || array_to_string(tags, ' '), '-_./:', '     '));

CREATE TABLE memhub.memory_revisions (
    project_id   uuid NOT NULL,
    memory_id    uuid NOT NULL,
    revision_no  memhub.revision_number NOT NULL,
    -- With its foreign key this makes the numbers gapless: 3 needs 2, 2 needs 1.
    previous     integer GENERATED ALWAYS AS (nullif(revision_no - 1, 0)) STORED,
    -- An open revision must be the head of an ACTIVE memory; for a closed one this is NULL.
    open_status  text GENERATED ALWAYS AS (CASE WHEN valid_to IS NULL THEN 'ACTIVE' END) STORED,
    open         boolean GENERATED ALWAYS AS (valid_to IS NULL) STORED,
    origin       memhub.origin NOT NULL,
    content      memhub.content,
    content_hash memhub.sha256,
    document     tsvector,
    type         memhub.memory_type NOT NULL,
    category     memhub.category,
    tags         memhub.tags NOT NULL DEFAULT '{}',
    importance   memhub.importance,
    expires_at   timestamptz,
    author_client       memhub.client NOT NULL,
    author_conversation text,
    author_kind  memhub.author_kind NOT NULL,
    source       memhub.remark,
    reason       memhub.remark,
    valid_from   timestamptz NOT NULL,
    valid_to     timestamptz CHECK (valid_to >= valid_from),
    purged_at    timestamptz,
    PRIMARY KEY (project_id, memory_id, revision_no),
    CONSTRAINT memory_revisions_open UNIQUE (project_id, memory_id, revision_no, open),
    CONSTRAINT memory_revisions_memory FOREIGN KEY (project_id, memory_id)
        REFERENCES memhub.memories (project_id, id) DEFERRABLE INITIALLY DEFERRED,
    CONSTRAINT memory_revisions_gapless FOREIGN KEY (project_id, memory_id, previous)
        REFERENCES memhub.memory_revisions (project_id, memory_id, revision_no),
    CONSTRAINT memory_revisions_open_is_head FOREIGN KEY (project_id, memory_id, revision_no, open_status)
        REFERENCES memhub.memories (project_id, id, revision_no, status) DEFERRABLE INITIALLY DEFERRED,
    CONSTRAINT memory_revisions_task_expires CHECK (
        type <> 'TASK' OR (expires_at - valid_from <= interval '30 days') IS TRUE
    ),
    -- All three, or with purged_at none of them; what is still said has its words.
    CONSTRAINT memory_revisions_content_or_purged CHECK (
        num_nulls(content, content_hash, document) = 3 * num_nonnulls(purged_at) AND num_nonnulls(purged_at) <= num_nonnulls(valid_to)
    )
);

ALTER TABLE memhub.memories ADD CONSTRAINT memories_head_exists FOREIGN KEY (project_id, id, revision_no, open)
        REFERENCES memhub.memory_revisions (project_id, memory_id, revision_no, open) DEFERRABLE INITIALLY DEFERRED;

CREATE FUNCTION memhub.guard_memory() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF (NEW.project_id, NEW.id, NEW.created_at, NEW.conversation)
            IS DISTINCT FROM (OLD.project_id, OLD.id, OLD.created_at, OLD.conversation) THEN
            RAISE EXCEPTION 'memory % cannot change its project, id, birth or scope', OLD.id
                USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'memories_guard';
        END IF;
        IF NOT (NEW.revision_no = OLD.revision_no
                OR NEW.revision_no = OLD.revision_no + 1 AND NEW.status = 'ACTIVE') THEN
            RAISE EXCEPTION 'memory % is % at revision % and cannot go to %',
                OLD.id, NEW.status, OLD.revision_no, NEW.revision_no
                USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'memories_guard';
        END IF;
        IF NEW.status <> OLD.status
            AND NOT (OLD.status = 'ACTIVE'
                     OR NEW.status = 'ACTIVE' AND (OLD.status = 'DELETED' OR OLD.retired_by = 'judge')) THEN
            RAISE EXCEPTION 'memory % cannot go from % to %', OLD.id, OLD.status, NEW.status
                USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'memories_guard';
        END IF;
        -- Else who retired it could be rewritten, and what a client superseded be restored as if a judge had.
        IF NEW.status = OLD.status
            AND (NEW.retired_at, NEW.retired_by, NEW.superseded_by)
                IS DISTINCT FROM (OLD.retired_at, OLD.retired_by, OLD.superseded_by) THEN
            RAISE EXCEPTION 'memory % is % already', OLD.id, OLD.status
                USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'memories_guard';
        END IF;
        IF NEW.retired_at IS NOT DISTINCT FROM OLD.retired_at THEN
            RETURN NEW;
        END IF;
    END IF;
    IF NOT (coalesce(NEW.retired_at, clock_timestamp()) BETWEEN now() AND clock_timestamp()
            AND (TG_OP = 'UPDATE' OR NEW.created_at BETWEEN now() AND clock_timestamp()))
        AND NOT current_user = 'memhub_operator' THEN
        RAISE EXCEPTION 'memory % has a time that is not of this transaction', NEW.id
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'memories_guard',
                  HINT = 'Use clock_timestamp(), read after the locks.';
    END IF;
    RETURN NEW;
END
$$;

-- A birth as it should be is seen by the condition: the call behind it, with its pinned search_path, costs more.
CREATE TRIGGER memories_guard_birth BEFORE INSERT ON memhub.memories
    FOR EACH ROW WHEN ((memhub.time_holds(NEW.created_at) AND NEW.retired_at IS NULL) IS NOT TRUE)
    EXECUTE FUNCTION memhub.guard_memory();
CREATE TRIGGER memories_guard BEFORE UPDATE ON memhub.memories
    FOR EACH ROW EXECUTE FUNCTION memhub.guard_memory();
CREATE TRIGGER memories_stay BEFORE DELETE OR TRUNCATE ON memhub.memories
    FOR EACH STATEMENT EXECUTE FUNCTION memhub.refuse_change();

-- A revision may be closed once. Everything else about it is as it was written, but for the operator's purge,
-- which empties it.
CREATE FUNCTION memhub.guard_revision() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
    previous_to timestamptz;
BEGIN
    IF current_user = 'memhub_operator' THEN
        IF TG_OP = 'UPDATE' AND NEW.content <> OLD.content THEN
            RAISE EXCEPTION 'revision % of memory % can be emptied, not rewritten', OLD.revision_no, OLD.memory_id
                USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'memory_revisions_guard';
        END IF;
        RETURN NEW;
    END IF;
    IF TG_OP = 'INSERT' THEN
        IF NOT NEW.valid_from BETWEEN now() AND clock_timestamp() OR NEW.valid_to IS NOT NULL
            OR NEW.purged_at IS NOT NULL THEN
            RAISE EXCEPTION 'revision % of memory % must begin now and be open', NEW.revision_no, NEW.memory_id
                USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'memory_revisions_guard',
                      HINT = 'Use clock_timestamp(), read after the locks.';
        END IF;
        -- A revision that is opened and closed in one transaction meets no foreign key of the open one: it could stand
        -- beyond the head, or begin before its predecessor ended.
        IF NEW.revision_no > 1 THEN
            SELECT previous.valid_to INTO previous_to
            FROM memhub.memories AS memory
            JOIN memhub.memory_revisions AS previous
                ON previous.project_id = memory.project_id AND previous.memory_id = memory.id
                AND previous.revision_no = NEW.revision_no - 1
            WHERE memory.project_id = NEW.project_id AND memory.id = NEW.memory_id
                AND memory.revision_no = NEW.revision_no;
            IF previous_to IS NULL THEN
                RAISE EXCEPTION 'revision % of memory % must be its head and follow a closed one',
                    NEW.revision_no, NEW.memory_id
                    USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'memory_revisions_guard',
                          HINT = 'Move the head, close the revision before, then insert.';
            END IF;
            -- As a check would be refused, under its own name: by one clock alone it can be that only where the clock was
            -- set back.
            IF NEW.valid_from < previous_to THEN
                RAISE EXCEPTION 'revision % of memory % begins before the one before it ended',
                    NEW.revision_no, NEW.memory_id
                    USING ERRCODE = 'check_violation', CONSTRAINT = 'memory_revisions_order';
            END IF;
        END IF;
        RETURN NEW;
    END IF;
    IF OLD.valid_to IS NOT NULL OR NEW.valid_to IS NULL OR NOT NEW.valid_to BETWEEN now() AND clock_timestamp()
        OR ROW (NEW.project_id, NEW.memory_id, NEW.revision_no, NEW.origin, NEW.content, NEW.content_hash, NEW.document,
                NEW.type, NEW.category, NEW.tags, NEW.importance, NEW.expires_at, NEW.author_client,
                NEW.author_conversation, NEW.author_kind, NEW.source, NEW.reason, NEW.valid_from, NEW.purged_at)
            IS DISTINCT FROM
            ROW (OLD.project_id, OLD.memory_id, OLD.revision_no, OLD.origin, OLD.content, OLD.content_hash, OLD.document,
                OLD.type, OLD.category, OLD.tags, OLD.importance, OLD.expires_at, OLD.author_client,
                OLD.author_conversation, OLD.author_kind, OLD.source, OLD.reason, OLD.valid_from, OLD.purged_at)
    THEN
        RAISE EXCEPTION 'revision % of memory % is written: it can only be closed, once, now',
            OLD.revision_no, OLD.memory_id
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'memory_revisions_guard';
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER memory_revisions_guard_birth BEFORE INSERT ON memhub.memory_revisions
    FOR EACH ROW WHEN ((NEW.revision_no = 1 AND memhub.time_holds(NEW.valid_from)
                            AND NEW.valid_to IS NULL AND NEW.purged_at IS NULL) IS NOT TRUE)
    EXECUTE FUNCTION memhub.guard_revision();
CREATE TRIGGER memory_revisions_guard BEFORE UPDATE ON memhub.memory_revisions
    FOR EACH ROW EXECUTE FUNCTION memhub.guard_revision();
CREATE TRIGGER memory_revisions_stay BEFORE DELETE OR TRUNCATE ON memhub.memory_revisions
    FOR EACH STATEMENT EXECUTE FUNCTION memhub.refuse_change();

-- Who once said these words and says them no more: a writer who says them again is shown what replaced them, and an
-- import leaves them out. Not by project first: planned while the table is empty, the guard of a revision would read all
-- that passed in its project.
CREATE INDEX memory_revisions_passed ON memhub.memory_revisions (content_hash, project_id) WHERE valid_to IS NOT NULL;

-- Every client that said it, the first one too; each keeps its own type, tags and expiry.
CREATE TABLE memhub.attestations (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id    uuid NOT NULL,
    memory_id     uuid NOT NULL,
    revision_no   integer NOT NULL,
    author_client memhub.client NOT NULL,
    author_conversation text,
    author_kind   memhub.author_kind NOT NULL,
    type          memhub.memory_type NOT NULL,
    category      memhub.category,
    tags          memhub.tags NOT NULL DEFAULT '{}',
    importance    memhub.importance,
    expires_at    timestamptz,
    source        memhub.remark,
    created_at    timestamptz NOT NULL,
    FOREIGN KEY (project_id, memory_id, revision_no)
        REFERENCES memhub.memory_revisions (project_id, memory_id, revision_no)
);

CREATE INDEX attestations_by_memory ON memhub.attestations (project_id, memory_id, id);

-- Where rows are never updated the clock is a check and not a trigger, at a tenth of the cost. NOT VALID lets a dump
-- come back, which re-creates such a check after the rows.
ALTER TABLE memhub.attestations ADD CONSTRAINT attestations_clock CHECK (memhub.time_holds(created_at)) NOT VALID;
