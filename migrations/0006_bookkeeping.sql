-- These reference projects only: status and revision_no are key columns of memories, so an open revise would block
-- every insert here that references its memory.

-- One client retries one request: the key is claimed with the write and leads a replay to what was written.
CREATE DOMAIN memhub.idempotency_key AS text COLLATE "C" CHECK (octet_length(VALUE) BETWEEN 8 AND 128);

CREATE TABLE memhub.idempotency_keys (
    project_id  uuid NOT NULL REFERENCES memhub.projects (id),
    key         memhub.idempotency_key NOT NULL,
    fingerprint memhub.sha256 NOT NULL,
    response    jsonb,  -- ids and numbers only: content is read again from its revision
    created_at  timestamptz NOT NULL,
    PRIMARY KEY (project_id, key)
);

CREATE INDEX idempotency_keys_oldest ON memhub.idempotency_keys (created_at);

-- A key without a response would leave its client without an answer for as long as the key is kept. The statement of a
-- plain write gives the response with the key, and then this costs only the look at WHEN.
CREATE FUNCTION memhub.refuse_unanswered_key() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    IF EXISTS (
        SELECT FROM memhub.idempotency_keys
        WHERE project_id = NEW.project_id AND key = NEW.key AND response IS NULL) THEN
        RAISE EXCEPTION 'idempotency key % has no response', NEW.key
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = TG_NAME,
                  HINT = 'Store the response, or delete the key, in the transaction that claimed it.';
    END IF;
    RETURN NULL;
END
$$;

CREATE CONSTRAINT TRIGGER idempotency_keys_answered AFTER INSERT OR UPDATE ON memhub.idempotency_keys
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.response IS NULL)
    EXECUTE FUNCTION memhub.refuse_unanswered_key();

CREATE TRIGGER idempotency_keys_clock BEFORE INSERT OR UPDATE OF created_at ON memhub.idempotency_keys
    FOR EACH ROW EXECUTE FUNCTION memhub.refuse_foreign_created_at();

-- What happened, for ever. transaction_id lets a reader of the feed stop below the oldest transaction that is
-- still open: reading by id alone loses rows that commit late.
-- No {1,64}: a counted repetition is 64 states that each match builds anew, 2 % of the instructions of a remember.
CREATE DOMAIN memhub.event_name AS text CHECK (VALUE ~ '^[a-z_]+$' AND octet_length(VALUE) <= 64);

-- An object, by whose keys history, purge and feed read it: anything else would end them.
CREATE DOMAIN memhub.event_details AS jsonb CHECK (jsonb_typeof(VALUE) = 'object');

CREATE TABLE memhub.audit_events (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    transaction_id xid8 NOT NULL DEFAULT pg_current_xact_id(),
    tenant         text COLLATE "C" NOT NULL,
    project_id     uuid,
    memory_id      uuid,
    revision_no    integer,
    scope_key      text COLLATE "C" NOT NULL DEFAULT '',  -- the conversation that may see it, or ''
    event          memhub.event_name NOT NULL,
    client         text NOT NULL,
    request_id     text,
    details        memhub.event_details NOT NULL DEFAULT '{}',
    created_at     timestamptz NOT NULL,
    FOREIGN KEY (project_id, tenant) REFERENCES memhub.projects (id, tenant)
);

CREATE INDEX audit_events_by_memory ON memhub.audit_events (project_id, memory_id, id);

ALTER TABLE memhub.audit_events ADD CONSTRAINT audit_events_clock CHECK (memhub.time_holds(created_at)) NOT VALID;

-- The operator's purge may redact the details of an event; nobody can take it away.
CREATE FUNCTION memhub.guard_audit_event() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    IF NOT current_user = 'memhub_operator'
        OR ROW (NEW.id, NEW.transaction_id, NEW.tenant, NEW.project_id, NEW.memory_id, NEW.revision_no, NEW.scope_key,
                NEW.event, NEW.client, NEW.request_id, NEW.created_at)
            IS DISTINCT FROM
            ROW (OLD.id, OLD.transaction_id, OLD.tenant, OLD.project_id, OLD.memory_id, OLD.revision_no, OLD.scope_key,
                OLD.event, OLD.client, OLD.request_id, OLD.created_at) THEN
        RAISE EXCEPTION 'audit event % is written for ever', OLD.id
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = TG_NAME;
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER audit_events_guard BEFORE UPDATE ON memhub.audit_events
    FOR EACH ROW EXECUTE FUNCTION memhub.guard_audit_event();
CREATE TRIGGER audit_events_stay BEFORE DELETE OR TRUNCATE ON memhub.audit_events
    FOR EACH STATEMENT EXECUTE FUNCTION memhub.refuse_change();

-- The same for attestations: purge may empty their own words, nobody can take them away.
CREATE FUNCTION memhub.guard_attestation() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    IF NOT current_user = 'memhub_operator'
        OR ROW (NEW.id, NEW.project_id, NEW.memory_id, NEW.revision_no, NEW.author_client, NEW.type, NEW.created_at)
            IS DISTINCT FROM
            ROW (OLD.id, OLD.project_id, OLD.memory_id, OLD.revision_no, OLD.author_client, OLD.type, OLD.created_at) THEN
        RAISE EXCEPTION 'attestation % is written for ever', OLD.id
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = TG_NAME;
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER attestations_guard BEFORE UPDATE ON memhub.attestations
    FOR EACH ROW EXECUTE FUNCTION memhub.guard_attestation();
CREATE TRIGGER attestations_stay BEFORE DELETE OR TRUNCATE ON memhub.attestations
    FOR EACH STATEMENT EXECUTE FUNCTION memhub.refuse_change();

-- Servers append what they counted; the folder alone adds it up, so no writer meets another.
CREATE TABLE memhub.counter_deltas (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id uuid NOT NULL REFERENCES memhub.projects (id),
    memory_id  uuid NOT NULL,
    counter    text NOT NULL CHECK (counter IN ('search', 'context', 'history')),
    hits       integer NOT NULL CHECK (hits > 0),
    created_at timestamptz NOT NULL
);

ALTER TABLE memhub.counter_deltas ADD CONSTRAINT counter_deltas_clock CHECK (memhub.time_holds(created_at)) NOT VALID;

CREATE TABLE memhub.memory_counters (
    project_id   uuid NOT NULL REFERENCES memhub.projects (id),
    memory_id    uuid NOT NULL,
    search_hits  bigint NOT NULL DEFAULT 0 CHECK (search_hits >= 0),
    context_hits bigint NOT NULL DEFAULT 0 CHECK (context_hits >= 0),
    history_hits bigint NOT NULL DEFAULT 0 CHECK (history_hits >= 0),
    used_at      timestamptz NOT NULL,
    PRIMARY KEY (project_id, memory_id)
);
