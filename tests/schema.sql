CREATE SCHEMA memhub;

CREATE DOMAIN memhub.author_kind AS text
	CONSTRAINT author_kind_check CHECK ((VALUE = ANY (ARRAY['agent'::text, 'human_confirmed'::text, 'import'::text])));

CREATE DOMAIN memhub.category AS text
	CONSTRAINT category_check CHECK (((octet_length(VALUE) >= 1) AND (octet_length(VALUE) <= 128)));

CREATE DOMAIN memhub.client AS text
	CONSTRAINT client_check CHECK (((octet_length(VALUE) >= 1) AND (octet_length(VALUE) <= 512)));

CREATE DOMAIN memhub.content AS text
	CONSTRAINT content_check CHECK (((octet_length(VALUE) >= 1) AND (octet_length(VALUE) <= 32000)));

CREATE DOMAIN memhub.conversation AS text COLLATE pg_catalog."C"
	CONSTRAINT conversation_check CHECK (((VALUE ~ '^[\x21-\x7e]+$'::text) AND (octet_length(VALUE) <= 512)));

CREATE DOMAIN memhub.event_details AS jsonb
	CONSTRAINT event_details_check CHECK ((jsonb_typeof(VALUE) = 'object'::text));

CREATE DOMAIN memhub.event_name AS text
	CONSTRAINT event_name_check CHECK (((VALUE ~ '^[a-z_]+$'::text) AND (octet_length(VALUE) <= 64)));

CREATE DOMAIN memhub.idempotency_key AS text COLLATE pg_catalog."C"
	CONSTRAINT idempotency_key_check CHECK (((octet_length(VALUE) >= 8) AND (octet_length(VALUE) <= 128)));

CREATE DOMAIN memhub.importance AS smallint
	CONSTRAINT importance_check CHECK (((VALUE >= 0) AND (VALUE <= 100)));

CREATE DOMAIN memhub.memory_type AS text
	CONSTRAINT memory_type_check CHECK ((VALUE = ANY (ARRAY['DECISION'::text, 'CONSTRAINT'::text, 'FACT'::text, 'TASK'::text])));

CREATE DOMAIN memhub.natural_number AS integer
	CONSTRAINT natural_number_check CHECK ((VALUE >= 0));

CREATE DOMAIN memhub.origin AS text
	CONSTRAINT origin_check CHECK ((VALUE = ANY (ARRAY['remember'::text, 'revise'::text, 'restore'::text, 'import'::text])));

CREATE DOMAIN memhub.remark AS text
	CONSTRAINT remark_check CHECK ((octet_length(VALUE) <= 1000));

CREATE DOMAIN memhub.retirer AS text
	CONSTRAINT retirer_check CHECK ((VALUE = ANY (ARRAY['client'::text, 'judge'::text])));

CREATE DOMAIN memhub.revision_number AS integer
	CONSTRAINT revision_number_check CHECK ((VALUE >= 1));

CREATE DOMAIN memhub.sha256 AS bytea
	CONSTRAINT sha256_check CHECK ((octet_length(VALUE) = 32));

CREATE DOMAIN memhub.status AS text
	CONSTRAINT status_check CHECK ((VALUE = ANY (ARRAY['ACTIVE'::text, 'SUPERSEDED'::text, 'DELETED'::text])));

CREATE DOMAIN memhub.tags AS text[]
	CONSTRAINT tags_check CHECK ((cardinality(VALUE) <= 20));

CREATE FUNCTION memhub.gather_words() RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog'
    SET lock_timeout TO '200ms'
    AS $$
BEGIN
    PERFORM pg_try_advisory_lock_shared(hashtextextended('memhub.gather_words', 0));
    ALTER INDEX memhub.live_memories_document SET (fastupdate = on);
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    RETURN false;
END
$$;

CREATE FUNCTION memhub.guard_attestation() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog'
    AS $$
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

CREATE FUNCTION memhub.guard_audit_event() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog'
    AS $$
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

CREATE FUNCTION memhub.guard_memory() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog'
    AS $$
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

CREATE FUNCTION memhub.guard_retired_vector() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog'
    AS $$
BEGIN
    IF NOT current_user = 'memhub_operator'
        AND EXISTS (SELECT FROM memhub.embedding_models WHERE id = OLD.model_id AND state <> 'retired') THEN
        RAISE EXCEPTION 'vectors of the past of model % stay while it is in use', OLD.model_id
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = TG_NAME;
    END IF;
    RETURN OLD;
END
$$;

CREATE FUNCTION memhub.guard_revision() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog'
    AS $$
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

CREATE FUNCTION memhub.keep_retired_vector() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog'
    AS $$
BEGIN
    INSERT INTO memhub.retired_vectors (project_id, memory_id, revision_no, model_id, dimension, chunk_no, embedding)
    SELECT OLD.project_id, OLD.memory_id, OLD.revision_no, OLD.model_id, OLD.dimension, OLD.chunk_no, OLD.embedding
    FROM memhub.embedding_models AS model WHERE model.id = OLD.model_id AND model.state <> 'retired'
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;

CREATE FUNCTION memhub.label_words(category text, tags text[]) RETURNS tsvector
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN to_tsvector('english'::regconfig, translate(((COALESCE(category, ''::text) || ' '::text) || array_to_string(tags, ' '::text)), '-_./:'::text, '     '::text));

CREATE FUNCTION memhub.refuse_change() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog'
    AS $$
BEGIN
    RAISE EXCEPTION '% on %.% is refused: it is append-only', TG_OP, TG_TABLE_SCHEMA, TG_TABLE_NAME
        USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = TG_NAME,
              HINT = 'What was said stays readable for ever; memhub purge is the only way to destroy it.';
END
$$;

CREATE FUNCTION memhub.refuse_foreign_created_at() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog'
    AS $$
BEGIN
    IF NOT NEW.created_at BETWEEN now() AND clock_timestamp() AND NOT current_user = 'memhub_operator' THEN
        RAISE EXCEPTION '%.created_at % is not of this transaction', TG_TABLE_NAME, NEW.created_at
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = TG_NAME,
                  HINT = 'Use clock_timestamp(), read after the locks.';
    END IF;
    RETURN NEW;
END
$$;

CREATE FUNCTION memhub.refuse_unanswered_key() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog'
    AS $$
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

CREATE FUNCTION memhub.settle_words() RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog'
    SET lock_timeout TO '200ms'
    AS $$
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

CREATE FUNCTION memhub.time_holds(at timestamp with time zone) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN at OPERATOR(pg_catalog.>=) pg_catalog.now() AND at OPERATOR(pg_catalog.<=) pg_catalog.clock_timestamp()
        OR current_user OPERATOR(pg_catalog.=) 'memhub_operator';
END
$$;

CREATE TABLE memhub.api_tokens (
    id uuid NOT NULL,
    tenant text NOT NULL COLLATE pg_catalog."C",
    project_id uuid,
    name text NOT NULL,
    hash bytea NOT NULL,
    read_only boolean NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    last_used_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT api_tokens_check CHECK ((revoked_at >= created_at)),
    CONSTRAINT api_tokens_check1 CHECK ((last_used_at >= created_at)),
    CONSTRAINT api_tokens_expiry CHECK ((expires_at > created_at)),
    CONSTRAINT api_tokens_hash_check CHECK ((octet_length(hash) = 32)),
    CONSTRAINT api_tokens_name_check CHECK (((octet_length(name) >= 1) AND (octet_length(name) <= 128))),
    CONSTRAINT api_tokens_tenant_check CHECK ((tenant ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$'::text))
);

CREATE TABLE memhub.attestations (
    id bigint NOT NULL,
    project_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    revision_no integer NOT NULL,
    author_client memhub.client NOT NULL,
    author_conversation text,
    author_kind memhub.author_kind NOT NULL,
    type memhub.memory_type NOT NULL,
    category memhub.category,
    tags memhub.tags DEFAULT '{}'::text[] NOT NULL,
    importance memhub.importance,
    expires_at timestamp with time zone,
    source memhub.remark,
    created_at timestamp with time zone NOT NULL
);

ALTER TABLE memhub.attestations ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME memhub.attestations_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE memhub.audit_events (
    id bigint NOT NULL,
    transaction_id xid8 DEFAULT pg_current_xact_id() NOT NULL,
    tenant text NOT NULL COLLATE pg_catalog."C",
    project_id uuid,
    memory_id uuid,
    revision_no integer,
    scope_key text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    event memhub.event_name NOT NULL,
    client text NOT NULL,
    request_id text,
    details memhub.event_details DEFAULT '{}'::jsonb NOT NULL,
    created_at timestamp with time zone NOT NULL
);

ALTER TABLE memhub.audit_events ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME memhub.audit_events_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE memhub.counted_projects (
    project_id uuid NOT NULL,
    memories integer,
    counted_at timestamp with time zone,
    failed_at timestamp with time zone,
    CONSTRAINT counted_projects_check CHECK (((memories IS NULL) = (counted_at IS NULL))),
    CONSTRAINT counted_projects_memories_check CHECK ((memories >= 0))
);

CREATE TABLE memhub.counter_deltas (
    id bigint NOT NULL,
    project_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    counter text NOT NULL,
    hits integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT counter_deltas_counter_check CHECK ((counter = ANY (ARRAY['search'::text, 'context'::text, 'history'::text]))),
    CONSTRAINT counter_deltas_hits_check CHECK ((hits > 0))
);

ALTER TABLE memhub.counter_deltas ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME memhub.counter_deltas_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE memhub.embedding_models (
    id integer NOT NULL,
    name text NOT NULL,
    dimension integer NOT NULL,
    floor real NOT NULL,
    state text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT embedding_models_dimension_check CHECK (((dimension >= 1) AND (dimension <= 16000))),
    CONSTRAINT embedding_models_floor_check CHECK (((floor > (0)::double precision) AND (floor < (1)::double precision))),
    CONSTRAINT embedding_models_state_check CHECK ((state = ANY (ARRAY['building'::text, 'current'::text, 'retired'::text])))
);

ALTER TABLE memhub.embedding_models ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME memhub.embedding_models_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE memhub.embedding_work (
    project_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    revision_no integer NOT NULL,
    model_id integer NOT NULL,
    leased_until timestamp with time zone,
    attempts memhub.natural_number DEFAULT 0 NOT NULL,
    error text
);

CREATE TABLE memhub.fleet_runs (
    id bigint NOT NULL,
    actor text NOT NULL,
    started_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    outcome text NOT NULL,
    details jsonb DEFAULT '{}'::jsonb NOT NULL,
    error text,
    CONSTRAINT fleet_runs_actor_check CHECK ((actor ~ '^[a-z_]{1,64}$'::text)),
    CONSTRAINT fleet_runs_check CHECK ((finished_at >= started_at)),
    CONSTRAINT fleet_runs_check1 CHECK (((outcome = 'failed'::text) = (error IS NOT NULL))),
    CONSTRAINT fleet_runs_error_check CHECK ((octet_length(error) <= 1000)),
    CONSTRAINT fleet_runs_outcome_check CHECK ((outcome = ANY (ARRAY['ok'::text, 'failed'::text])))
);

ALTER TABLE memhub.fleet_runs ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME memhub.fleet_runs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE memhub.fleet_workers (
    worker_id bigint NOT NULL,
    host text NOT NULL,
    pid integer NOT NULL,
    queues text[] NOT NULL,
    concurrency integer NOT NULL,
    started_at timestamp with time zone NOT NULL
);

CREATE TABLE memhub.idempotency_keys (
    project_id uuid NOT NULL,
    key memhub.idempotency_key NOT NULL,
    fingerprint memhub.sha256 NOT NULL,
    response jsonb,
    created_at timestamp with time zone NOT NULL
);

CREATE TABLE memhub.job_errors (
    job_id bigint NOT NULL,
    error text NOT NULL,
    failed_at timestamp with time zone NOT NULL,
    CONSTRAINT job_errors_error_check CHECK ((octet_length(error) <= 1000))
);

CREATE TABLE memhub.live_memories (
    project_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    revision_no integer NOT NULL,
    status text DEFAULT 'ACTIVE'::text NOT NULL,
    scope_key text NOT NULL COLLATE pg_catalog."C",
    content_hash bytea NOT NULL,
    document tsvector NOT NULL,
    type text NOT NULL,
    tags text[] NOT NULL,
    importance smallint,
    expires_at timestamp with time zone,
    author_client text NOT NULL,
    author_kind text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT live_memories_status_check CHECK ((status = 'ACTIVE'::text)),
    CONSTRAINT live_memories_task_expires CHECK (((type <> 'TASK'::text) OR (expires_at IS NOT NULL)))
);

CREATE TABLE memhub.live_vectors (
    project_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    revision_no integer NOT NULL,
    model_id integer NOT NULL,
    dimension integer NOT NULL,
    chunk_no smallint NOT NULL,
    embedding public.halfvec NOT NULL,
    code bit varying GENERATED ALWAYS AS (public.binary_quantize(embedding)) STORED,
    CONSTRAINT live_vectors_check CHECK ((public.vector_dims(embedding) = dimension)),
    CONSTRAINT live_vectors_chunk_no_check CHECK ((chunk_no >= 0))
);

CREATE TABLE memhub.memories (
    project_id uuid NOT NULL,
    id uuid NOT NULL,
    conversation memhub.conversation,
    status memhub.status DEFAULT 'ACTIVE'::text NOT NULL,
    revision_no memhub.revision_number DEFAULT 1 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    retired_at timestamp with time zone,
    retired_by memhub.retirer,
    superseded_by uuid,
    open boolean GENERATED ALWAYS AS (((status)::text = 'ACTIVE'::text)) STORED,
    CONSTRAINT memories_not_own_successor CHECK ((superseded_by <> id)),
    CONSTRAINT memories_status_agrees CHECK (((open = (retired_at IS NULL)) AND (open = (retired_by IS NULL)) AND (retired_at >= created_at) AND (((status)::text = 'SUPERSEDED'::text) = (superseded_by IS NOT NULL))))
);

CREATE TABLE memhub.memory_counters (
    project_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    search_hits bigint DEFAULT 0 NOT NULL,
    context_hits bigint DEFAULT 0 NOT NULL,
    history_hits bigint DEFAULT 0 NOT NULL,
    used_at timestamp with time zone NOT NULL,
    CONSTRAINT memory_counters_context_hits_check CHECK ((context_hits >= 0)),
    CONSTRAINT memory_counters_history_hits_check CHECK ((history_hits >= 0)),
    CONSTRAINT memory_counters_search_hits_check CHECK ((search_hits >= 0))
);

CREATE TABLE memhub.memory_revisions (
    project_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    revision_no memhub.revision_number NOT NULL,
    previous integer GENERATED ALWAYS AS (NULLIF(((revision_no)::integer - 1), 0)) STORED,
    open_status text GENERATED ALWAYS AS (
CASE
    WHEN (valid_to IS NULL) THEN 'ACTIVE'::text
    ELSE NULL::text
END) STORED,
    open boolean GENERATED ALWAYS AS ((valid_to IS NULL)) STORED,
    origin memhub.origin NOT NULL,
    content memhub.content,
    content_hash memhub.sha256,
    document tsvector,
    type memhub.memory_type NOT NULL,
    category memhub.category,
    tags memhub.tags DEFAULT '{}'::text[] NOT NULL,
    importance memhub.importance,
    expires_at timestamp with time zone,
    author_client memhub.client NOT NULL,
    author_conversation text,
    author_kind memhub.author_kind NOT NULL,
    source memhub.remark,
    reason memhub.remark,
    valid_from timestamp with time zone NOT NULL,
    valid_to timestamp with time zone,
    purged_at timestamp with time zone,
    CONSTRAINT memory_revisions_check CHECK ((valid_to >= valid_from)),
    CONSTRAINT memory_revisions_content_or_purged CHECK (((num_nulls(content, content_hash, document) = (3 * num_nonnulls(purged_at))) AND (num_nonnulls(purged_at) <= num_nonnulls(valid_to)))),
    CONSTRAINT memory_revisions_task_expires CHECK ((((type)::text <> 'TASK'::text) OR (((expires_at - valid_from) <= '30 days'::interval) IS TRUE)))
);

CREATE TABLE memhub.project_aliases (
    tenant text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL,
    value text NOT NULL COLLATE pg_catalog."C",
    project_id uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT project_aliases_kind_check CHECK ((kind = ANY (ARRAY['git_remote'::text, 'workspace_path'::text]))),
    CONSTRAINT project_aliases_value_check CHECK (((octet_length(value) >= 1) AND (octet_length(value) <= 1024)))
);

CREATE TABLE memhub.projects (
    id uuid NOT NULL,
    tenant text NOT NULL COLLATE pg_catalog."C",
    slug text NOT NULL COLLATE pg_catalog."C",
    display_name text,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT projects_display_name_check CHECK (((octet_length(display_name) >= 1) AND (octet_length(display_name) <= 256))),
    CONSTRAINT projects_slug_check CHECK ((slug ~ '^[a-z0-9][a-z0-9._-]{0,62}[a-z0-9]$'::text)),
    CONSTRAINT projects_tenant_check CHECK ((tenant ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$'::text))
);

CREATE TABLE memhub.retired_vectors (
    project_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    revision_no integer NOT NULL,
    model_id integer NOT NULL,
    dimension integer NOT NULL,
    chunk_no smallint NOT NULL,
    embedding public.halfvec NOT NULL,
    CONSTRAINT retired_vectors_check CHECK ((public.vector_dims(embedding) = dimension)),
    CONSTRAINT retired_vectors_chunk_no_check CHECK ((chunk_no >= 0))
);

CREATE TABLE memhub.schema_migrations (
    version integer NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT schema_migrations_checksum_check CHECK ((checksum ~ '^[0-9a-f]{64}$'::text)),
    CONSTRAINT schema_migrations_version_check CHECK ((version > 0))
);

CREATE VIEW memhub.searchable_memories AS
 SELECT project_id,
    memory_id,
    revision_no,
    scope_key,
    content_hash,
    document,
    type,
    tags,
    importance,
    expires_at,
    author_client,
    author_kind,
    created_at,
    updated_at
   FROM memhub.live_memories
  WHERE ((status = 'ACTIVE'::text) AND ((expires_at IS NULL) OR (expires_at > now())));

CREATE TABLE memhub.term_frequencies (
    project_id uuid NOT NULL,
    lexeme text NOT NULL COLLATE pg_catalog."C",
    documents integer NOT NULL,
    CONSTRAINT term_frequencies_documents_check CHECK ((documents >= 0))
);

CREATE TABLE memhub.tool_timings (
    hour timestamp with time zone NOT NULL,
    tool text NOT NULL COLLATE pg_catalog."C",
    bucket smallint NOT NULL,
    calls bigint NOT NULL,
    failures bigint NOT NULL,
    CONSTRAINT tool_timings_bucket_check CHECK (((bucket >= 0) AND (bucket <= 16))),
    CONSTRAINT tool_timings_calls_check CHECK ((calls >= 0)),
    CONSTRAINT tool_timings_check CHECK (((failures >= 0) AND (failures <= calls))),
    CONSTRAINT tool_timings_hour_check CHECK ((hour = date_trunc('hour'::text, hour, 'UTC'::text))),
    CONSTRAINT tool_timings_tool_check CHECK ((tool ~ '^[a-z_]{1,64}$'::text))
);

CREATE INDEX live_memories_document ON memhub.live_memories USING gin (document) WITH (fastupdate=off);

CREATE FUNCTION memhub.merge_words() RETURNS bigint
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog'
    RETURN gin_clean_pending_list('memhub.live_memories_document'::regclass);

ALTER TABLE ONLY memhub.api_tokens
    ADD CONSTRAINT api_tokens_hash_key UNIQUE (hash);

ALTER TABLE ONLY memhub.api_tokens
    ADD CONSTRAINT api_tokens_pkey PRIMARY KEY (id);

ALTER TABLE memhub.attestations
    ADD CONSTRAINT attestations_clock CHECK (memhub.time_holds(created_at)) NOT VALID;

ALTER TABLE ONLY memhub.attestations
    ADD CONSTRAINT attestations_pkey PRIMARY KEY (id);

ALTER TABLE memhub.audit_events
    ADD CONSTRAINT audit_events_clock CHECK (memhub.time_holds(created_at)) NOT VALID;

ALTER TABLE ONLY memhub.audit_events
    ADD CONSTRAINT audit_events_pkey PRIMARY KEY (id);

ALTER TABLE ONLY memhub.counted_projects
    ADD CONSTRAINT counted_projects_pkey PRIMARY KEY (project_id);

ALTER TABLE memhub.counter_deltas
    ADD CONSTRAINT counter_deltas_clock CHECK (memhub.time_holds(created_at)) NOT VALID;

ALTER TABLE ONLY memhub.counter_deltas
    ADD CONSTRAINT counter_deltas_pkey PRIMARY KEY (id);

ALTER TABLE ONLY memhub.embedding_models
    ADD CONSTRAINT embedding_models_id_dimension_key UNIQUE (id, dimension);

ALTER TABLE ONLY memhub.embedding_models
    ADD CONSTRAINT embedding_models_name_key UNIQUE (name);

ALTER TABLE ONLY memhub.embedding_models
    ADD CONSTRAINT embedding_models_pkey PRIMARY KEY (id);

ALTER TABLE ONLY memhub.embedding_work
    ADD CONSTRAINT embedding_work_pkey PRIMARY KEY (project_id, memory_id, revision_no, model_id);

ALTER TABLE ONLY memhub.fleet_runs
    ADD CONSTRAINT fleet_runs_pkey PRIMARY KEY (id);

ALTER TABLE ONLY memhub.fleet_workers
    ADD CONSTRAINT fleet_workers_pkey PRIMARY KEY (worker_id);

ALTER TABLE ONLY memhub.idempotency_keys
    ADD CONSTRAINT idempotency_keys_pkey PRIMARY KEY (project_id, key);

ALTER TABLE ONLY memhub.job_errors
    ADD CONSTRAINT job_errors_pkey PRIMARY KEY (job_id);

ALTER TABLE memhub.live_memories
    ADD CONSTRAINT live_memories_clock CHECK (memhub.time_holds(updated_at)) NOT VALID;

ALTER TABLE ONLY memhub.live_memories
    ADD CONSTRAINT live_memories_content UNIQUE (content_hash, project_id, scope_key);

ALTER TABLE ONLY memhub.live_memories
    ADD CONSTRAINT live_memories_pkey PRIMARY KEY (project_id, memory_id, revision_no) INCLUDE (status, scope_key, expires_at, type);

ALTER TABLE ONLY memhub.live_vectors
    ADD CONSTRAINT live_vectors_pkey PRIMARY KEY (project_id, model_id, memory_id, revision_no, chunk_no);

ALTER TABLE ONLY memhub.memories
    ADD CONSTRAINT memories_head UNIQUE (project_id, id, revision_no, status);

ALTER TABLE ONLY memhub.memories
    ADD CONSTRAINT memories_pkey PRIMARY KEY (project_id, id);

ALTER TABLE ONLY memhub.memory_counters
    ADD CONSTRAINT memory_counters_pkey PRIMARY KEY (project_id, memory_id);

ALTER TABLE ONLY memhub.memory_revisions
    ADD CONSTRAINT memory_revisions_open UNIQUE (project_id, memory_id, revision_no, open);

ALTER TABLE ONLY memhub.memory_revisions
    ADD CONSTRAINT memory_revisions_pkey PRIMARY KEY (project_id, memory_id, revision_no);

ALTER TABLE ONLY memhub.project_aliases
    ADD CONSTRAINT project_aliases_pkey PRIMARY KEY (tenant, kind, value);

ALTER TABLE ONLY memhub.projects
    ADD CONSTRAINT projects_id_tenant_key UNIQUE (id, tenant);

ALTER TABLE ONLY memhub.projects
    ADD CONSTRAINT projects_pkey PRIMARY KEY (id);

ALTER TABLE ONLY memhub.projects
    ADD CONSTRAINT projects_tenant_slug_key UNIQUE (tenant, slug);

ALTER TABLE ONLY memhub.retired_vectors
    ADD CONSTRAINT retired_vectors_pkey PRIMARY KEY (project_id, model_id, memory_id, revision_no, chunk_no);

ALTER TABLE ONLY memhub.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (version);

ALTER TABLE ONLY memhub.term_frequencies
    ADD CONSTRAINT term_frequencies_pkey PRIMARY KEY (project_id, lexeme);

ALTER TABLE ONLY memhub.tool_timings
    ADD CONSTRAINT tool_timings_pkey PRIMARY KEY (hour, tool, bucket);

CREATE INDEX api_tokens_of_tenant ON memhub.api_tokens USING btree (tenant, created_at);

CREATE INDEX attestations_by_memory ON memhub.attestations USING btree (project_id, memory_id, id);

CREATE INDEX audit_events_by_memory ON memhub.audit_events USING btree (project_id, memory_id, id);

CREATE INDEX audit_events_by_time ON memhub.audit_events USING brin (created_at) WITH (pages_per_range='16');

CREATE INDEX audit_events_by_transaction ON memhub.audit_events USING btree (transaction_id);

CREATE UNIQUE INDEX embedding_models_one_current ON memhub.embedding_models USING btree (state) WHERE (state = 'current'::text);

CREATE INDEX fleet_runs_by_actor ON memhub.fleet_runs USING btree (actor, id);

CREATE INDEX idempotency_keys_oldest ON memhub.idempotency_keys USING btree (created_at);

CREATE INDEX live_memories_expiring ON memhub.live_memories USING btree (expires_at) WHERE (expires_at IS NOT NULL);

CREATE INDEX live_memories_newest ON memhub.live_memories USING btree (project_id, created_at DESC, memory_id) WHERE (status = 'ACTIVE'::text);

CREATE INDEX live_vectors_code ON memhub.live_vectors USING btree (project_id, model_id, memory_id, revision_no) INCLUDE (chunk_no, code);

CREATE INDEX live_vectors_of_memory ON memhub.live_vectors USING btree (project_id, memory_id, revision_no);

CREATE INDEX memories_by_successor ON memhub.memories USING btree (project_id, superseded_by, retired_at DESC, id) WHERE (superseded_by IS NOT NULL);

CREATE INDEX memories_retired ON memhub.memories USING btree (project_id, status, retired_at DESC, id) INCLUDE (conversation) WHERE ((status)::text <> 'ACTIVE'::text);

CREATE INDEX memory_revisions_expiring ON memhub.memory_revisions USING btree (project_id, expires_at DESC, memory_id) WHERE ((valid_to IS NULL) AND (expires_at IS NOT NULL));

CREATE INDEX memory_revisions_passed ON memhub.memory_revisions USING btree (content_hash, project_id) WHERE (valid_to IS NOT NULL);

CREATE INDEX project_aliases_project ON memhub.project_aliases USING btree (project_id);

CREATE TRIGGER api_tokens_clock BEFORE INSERT OR UPDATE OF created_at ON memhub.api_tokens FOR EACH ROW EXECUTE FUNCTION memhub.refuse_foreign_created_at();

CREATE TRIGGER attestations_guard BEFORE UPDATE ON memhub.attestations FOR EACH ROW EXECUTE FUNCTION memhub.guard_attestation();

CREATE TRIGGER attestations_stay BEFORE DELETE OR TRUNCATE ON memhub.attestations FOR EACH STATEMENT EXECUTE FUNCTION memhub.refuse_change();

CREATE TRIGGER audit_events_guard BEFORE UPDATE ON memhub.audit_events FOR EACH ROW EXECUTE FUNCTION memhub.guard_audit_event();

CREATE TRIGGER audit_events_stay BEFORE DELETE OR TRUNCATE ON memhub.audit_events FOR EACH STATEMENT EXECUTE FUNCTION memhub.refuse_change();

CREATE TRIGGER embedding_models_clock BEFORE INSERT OR UPDATE OF created_at ON memhub.embedding_models FOR EACH ROW EXECUTE FUNCTION memhub.refuse_foreign_created_at();

CREATE CONSTRAINT TRIGGER idempotency_keys_answered AFTER INSERT OR UPDATE ON memhub.idempotency_keys DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.response IS NULL)) EXECUTE FUNCTION memhub.refuse_unanswered_key();

CREATE TRIGGER idempotency_keys_clock BEFORE INSERT OR UPDATE OF created_at ON memhub.idempotency_keys FOR EACH ROW EXECUTE FUNCTION memhub.refuse_foreign_created_at();

CREATE TRIGGER live_vectors_keep AFTER DELETE ON memhub.live_vectors FOR EACH ROW EXECUTE FUNCTION memhub.keep_retired_vector();

CREATE TRIGGER memories_guard BEFORE UPDATE ON memhub.memories FOR EACH ROW EXECUTE FUNCTION memhub.guard_memory();

CREATE TRIGGER memories_guard_birth BEFORE INSERT ON memhub.memories FOR EACH ROW WHEN (((memhub.time_holds(new.created_at) AND (new.retired_at IS NULL)) IS NOT TRUE)) EXECUTE FUNCTION memhub.guard_memory();

CREATE TRIGGER memories_stay BEFORE DELETE OR TRUNCATE ON memhub.memories FOR EACH STATEMENT EXECUTE FUNCTION memhub.refuse_change();

CREATE TRIGGER memory_revisions_guard BEFORE UPDATE ON memhub.memory_revisions FOR EACH ROW EXECUTE FUNCTION memhub.guard_revision();

CREATE TRIGGER memory_revisions_guard_birth BEFORE INSERT ON memhub.memory_revisions FOR EACH ROW WHEN (((((new.revision_no)::integer = 1) AND memhub.time_holds(new.valid_from) AND (new.valid_to IS NULL) AND (new.purged_at IS NULL)) IS NOT TRUE)) EXECUTE FUNCTION memhub.guard_revision();

CREATE TRIGGER memory_revisions_stay BEFORE DELETE OR TRUNCATE ON memhub.memory_revisions FOR EACH STATEMENT EXECUTE FUNCTION memhub.refuse_change();

CREATE TRIGGER project_aliases_clock BEFORE INSERT OR UPDATE OF created_at ON memhub.project_aliases FOR EACH ROW EXECUTE FUNCTION memhub.refuse_foreign_created_at();

CREATE TRIGGER projects_clock BEFORE INSERT OR UPDATE OF created_at ON memhub.projects FOR EACH ROW EXECUTE FUNCTION memhub.refuse_foreign_created_at();

CREATE TRIGGER retired_vectors_guard BEFORE DELETE ON memhub.retired_vectors FOR EACH ROW EXECUTE FUNCTION memhub.guard_retired_vector();

ALTER TABLE ONLY memhub.api_tokens
    ADD CONSTRAINT api_tokens_project_id_tenant_fkey FOREIGN KEY (project_id, tenant) REFERENCES memhub.projects(id, tenant);

ALTER TABLE ONLY memhub.attestations
    ADD CONSTRAINT attestations_project_id_memory_id_revision_no_fkey FOREIGN KEY (project_id, memory_id, revision_no) REFERENCES memhub.memory_revisions(project_id, memory_id, revision_no);

ALTER TABLE ONLY memhub.audit_events
    ADD CONSTRAINT audit_events_project_id_tenant_fkey FOREIGN KEY (project_id, tenant) REFERENCES memhub.projects(id, tenant);

ALTER TABLE ONLY memhub.counted_projects
    ADD CONSTRAINT counted_projects_project_id_fkey FOREIGN KEY (project_id) REFERENCES memhub.projects(id);

ALTER TABLE ONLY memhub.counter_deltas
    ADD CONSTRAINT counter_deltas_project_id_fkey FOREIGN KEY (project_id) REFERENCES memhub.projects(id);

ALTER TABLE ONLY memhub.embedding_work
    ADD CONSTRAINT embedding_work_project_id_memory_id_revision_no_fkey FOREIGN KEY (project_id, memory_id, revision_no) REFERENCES memhub.memory_revisions(project_id, memory_id, revision_no);

ALTER TABLE ONLY memhub.fleet_workers
    ADD CONSTRAINT fleet_workers_worker_id_fkey FOREIGN KEY (worker_id) REFERENCES public.procrastinate_workers(id) ON DELETE CASCADE;

ALTER TABLE ONLY memhub.idempotency_keys
    ADD CONSTRAINT idempotency_keys_project_id_fkey FOREIGN KEY (project_id) REFERENCES memhub.projects(id);

ALTER TABLE ONLY memhub.job_errors
    ADD CONSTRAINT job_errors_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.procrastinate_jobs(id) ON DELETE CASCADE;

ALTER TABLE ONLY memhub.live_memories
    ADD CONSTRAINT live_memories_is_active FOREIGN KEY (project_id, memory_id, revision_no, status) REFERENCES memhub.memories(project_id, id, revision_no, status) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY memhub.live_vectors
    ADD CONSTRAINT live_vectors_model_id_dimension_fkey FOREIGN KEY (model_id, dimension) REFERENCES memhub.embedding_models(id, dimension);

ALTER TABLE ONLY memhub.live_vectors
    ADD CONSTRAINT live_vectors_project_id_memory_id_revision_no_fkey FOREIGN KEY (project_id, memory_id, revision_no) REFERENCES memhub.live_memories(project_id, memory_id, revision_no) ON DELETE CASCADE;

ALTER TABLE ONLY memhub.memories
    ADD CONSTRAINT memories_head_exists FOREIGN KEY (project_id, id, revision_no, open) REFERENCES memhub.memory_revisions(project_id, memory_id, revision_no, open) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY memhub.memories
    ADD CONSTRAINT memories_project_id_fkey FOREIGN KEY (project_id) REFERENCES memhub.projects(id);

ALTER TABLE ONLY memhub.memories
    ADD CONSTRAINT memories_successor FOREIGN KEY (project_id, superseded_by) REFERENCES memhub.memories(project_id, id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY memhub.memory_counters
    ADD CONSTRAINT memory_counters_project_id_fkey FOREIGN KEY (project_id) REFERENCES memhub.projects(id);

ALTER TABLE ONLY memhub.memory_revisions
    ADD CONSTRAINT memory_revisions_gapless FOREIGN KEY (project_id, memory_id, previous) REFERENCES memhub.memory_revisions(project_id, memory_id, revision_no);

ALTER TABLE ONLY memhub.memory_revisions
    ADD CONSTRAINT memory_revisions_memory FOREIGN KEY (project_id, memory_id) REFERENCES memhub.memories(project_id, id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY memhub.memory_revisions
    ADD CONSTRAINT memory_revisions_open_is_head FOREIGN KEY (project_id, memory_id, revision_no, open_status) REFERENCES memhub.memories(project_id, id, revision_no, status) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY memhub.project_aliases
    ADD CONSTRAINT project_aliases_project_id_tenant_fkey FOREIGN KEY (project_id, tenant) REFERENCES memhub.projects(id, tenant);

ALTER TABLE ONLY memhub.retired_vectors
    ADD CONSTRAINT retired_vectors_model_id_dimension_fkey FOREIGN KEY (model_id, dimension) REFERENCES memhub.embedding_models(id, dimension);

ALTER TABLE ONLY memhub.retired_vectors
    ADD CONSTRAINT retired_vectors_project_id_memory_id_revision_no_fkey FOREIGN KEY (project_id, memory_id, revision_no) REFERENCES memhub.memory_revisions(project_id, memory_id, revision_no);

ALTER TABLE ONLY memhub.term_frequencies
    ADD CONSTRAINT term_frequencies_project_id_fkey FOREIGN KEY (project_id) REFERENCES memhub.projects(id);

GRANT USAGE ON SCHEMA memhub TO memhub_server;
GRANT USAGE ON SCHEMA memhub TO memhub_operator;

REVOKE ALL ON FUNCTION memhub.gather_words() FROM PUBLIC;
GRANT ALL ON FUNCTION memhub.gather_words() TO memhub_operator;

REVOKE ALL ON FUNCTION memhub.settle_words() FROM PUBLIC;
GRANT ALL ON FUNCTION memhub.settle_words() TO memhub_server;
GRANT ALL ON FUNCTION memhub.settle_words() TO memhub_operator;

GRANT SELECT ON TABLE memhub.api_tokens TO memhub_server;
GRANT SELECT,INSERT ON TABLE memhub.api_tokens TO memhub_operator;

GRANT UPDATE(revoked_at) ON TABLE memhub.api_tokens TO memhub_operator;

GRANT UPDATE(last_used_at) ON TABLE memhub.api_tokens TO memhub_server;

GRANT SELECT,INSERT ON TABLE memhub.attestations TO memhub_server;
GRANT SELECT,INSERT ON TABLE memhub.attestations TO memhub_operator;

GRANT UPDATE(category) ON TABLE memhub.attestations TO memhub_operator;

GRANT UPDATE(tags) ON TABLE memhub.attestations TO memhub_operator;

GRANT UPDATE(source) ON TABLE memhub.attestations TO memhub_operator;

GRANT SELECT,INSERT ON TABLE memhub.audit_events TO memhub_server;
GRANT SELECT,INSERT ON TABLE memhub.audit_events TO memhub_operator;

GRANT UPDATE(details) ON TABLE memhub.audit_events TO memhub_operator;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE memhub.counted_projects TO memhub_server;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE memhub.counted_projects TO memhub_operator;

GRANT SELECT,INSERT,DELETE ON TABLE memhub.counter_deltas TO memhub_server;
GRANT SELECT,INSERT,DELETE ON TABLE memhub.counter_deltas TO memhub_operator;

GRANT UPDATE(hits) ON TABLE memhub.counter_deltas TO memhub_server;
GRANT UPDATE(hits) ON TABLE memhub.counter_deltas TO memhub_operator;

GRANT SELECT,INSERT ON TABLE memhub.embedding_models TO memhub_server;
GRANT SELECT,INSERT ON TABLE memhub.embedding_models TO memhub_operator;

GRANT UPDATE(dimension) ON TABLE memhub.embedding_models TO memhub_server;
GRANT UPDATE(dimension) ON TABLE memhub.embedding_models TO memhub_operator;

GRANT UPDATE(floor) ON TABLE memhub.embedding_models TO memhub_server;
GRANT UPDATE(floor) ON TABLE memhub.embedding_models TO memhub_operator;

GRANT UPDATE(state) ON TABLE memhub.embedding_models TO memhub_server;
GRANT UPDATE(state) ON TABLE memhub.embedding_models TO memhub_operator;

GRANT SELECT,INSERT,DELETE ON TABLE memhub.embedding_work TO memhub_server;
GRANT SELECT,INSERT,DELETE ON TABLE memhub.embedding_work TO memhub_operator;

GRANT UPDATE(leased_until) ON TABLE memhub.embedding_work TO memhub_server;
GRANT UPDATE(leased_until) ON TABLE memhub.embedding_work TO memhub_operator;

GRANT UPDATE(attempts) ON TABLE memhub.embedding_work TO memhub_server;
GRANT UPDATE(attempts) ON TABLE memhub.embedding_work TO memhub_operator;

GRANT UPDATE(error) ON TABLE memhub.embedding_work TO memhub_server;
GRANT UPDATE(error) ON TABLE memhub.embedding_work TO memhub_operator;

GRANT SELECT,INSERT,DELETE ON TABLE memhub.fleet_runs TO memhub_server;
GRANT SELECT,INSERT,DELETE ON TABLE memhub.fleet_runs TO memhub_operator;

GRANT SELECT,INSERT,DELETE ON TABLE memhub.fleet_workers TO memhub_server;
GRANT SELECT,INSERT,DELETE ON TABLE memhub.fleet_workers TO memhub_operator;

GRANT SELECT,INSERT,DELETE ON TABLE memhub.idempotency_keys TO memhub_server;
GRANT SELECT,INSERT,DELETE ON TABLE memhub.idempotency_keys TO memhub_operator;

GRANT UPDATE(fingerprint) ON TABLE memhub.idempotency_keys TO memhub_operator;

GRANT UPDATE(response) ON TABLE memhub.idempotency_keys TO memhub_server;
GRANT UPDATE(response) ON TABLE memhub.idempotency_keys TO memhub_operator;

GRANT SELECT,INSERT,DELETE ON TABLE memhub.job_errors TO memhub_server;
GRANT SELECT,INSERT,DELETE ON TABLE memhub.job_errors TO memhub_operator;

GRANT UPDATE(error) ON TABLE memhub.job_errors TO memhub_server;
GRANT UPDATE(error) ON TABLE memhub.job_errors TO memhub_operator;

GRANT UPDATE(failed_at) ON TABLE memhub.job_errors TO memhub_server;
GRANT UPDATE(failed_at) ON TABLE memhub.job_errors TO memhub_operator;

GRANT SELECT,INSERT,DELETE ON TABLE memhub.live_memories TO memhub_server;
GRANT SELECT,INSERT,DELETE ON TABLE memhub.live_memories TO memhub_operator;

GRANT SELECT,INSERT,DELETE ON TABLE memhub.live_vectors TO memhub_server;
GRANT SELECT,INSERT,DELETE ON TABLE memhub.live_vectors TO memhub_operator;

GRANT SELECT,INSERT ON TABLE memhub.memories TO memhub_server;
GRANT SELECT,INSERT ON TABLE memhub.memories TO memhub_operator;

GRANT UPDATE(status) ON TABLE memhub.memories TO memhub_server;
GRANT UPDATE(status) ON TABLE memhub.memories TO memhub_operator;

GRANT UPDATE(revision_no) ON TABLE memhub.memories TO memhub_server;
GRANT UPDATE(revision_no) ON TABLE memhub.memories TO memhub_operator;

GRANT UPDATE(retired_at) ON TABLE memhub.memories TO memhub_server;
GRANT UPDATE(retired_at) ON TABLE memhub.memories TO memhub_operator;

GRANT UPDATE(retired_by) ON TABLE memhub.memories TO memhub_server;
GRANT UPDATE(retired_by) ON TABLE memhub.memories TO memhub_operator;

GRANT UPDATE(superseded_by) ON TABLE memhub.memories TO memhub_server;
GRANT UPDATE(superseded_by) ON TABLE memhub.memories TO memhub_operator;

GRANT SELECT,INSERT,UPDATE ON TABLE memhub.memory_counters TO memhub_server;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE memhub.memory_counters TO memhub_operator;

GRANT SELECT,INSERT ON TABLE memhub.memory_revisions TO memhub_server;
GRANT SELECT,INSERT ON TABLE memhub.memory_revisions TO memhub_operator;

GRANT UPDATE(content) ON TABLE memhub.memory_revisions TO memhub_operator;

GRANT UPDATE(content_hash) ON TABLE memhub.memory_revisions TO memhub_operator;

GRANT UPDATE(document) ON TABLE memhub.memory_revisions TO memhub_operator;

GRANT UPDATE(category) ON TABLE memhub.memory_revisions TO memhub_operator;

GRANT UPDATE(tags) ON TABLE memhub.memory_revisions TO memhub_operator;

GRANT UPDATE(source) ON TABLE memhub.memory_revisions TO memhub_operator;

GRANT UPDATE(reason) ON TABLE memhub.memory_revisions TO memhub_operator;

GRANT UPDATE(valid_to) ON TABLE memhub.memory_revisions TO memhub_server;
GRANT UPDATE(valid_to) ON TABLE memhub.memory_revisions TO memhub_operator;

GRANT UPDATE(purged_at) ON TABLE memhub.memory_revisions TO memhub_operator;

GRANT SELECT,INSERT ON TABLE memhub.project_aliases TO memhub_server;
GRANT SELECT,INSERT,DELETE ON TABLE memhub.project_aliases TO memhub_operator;

GRANT SELECT,INSERT ON TABLE memhub.projects TO memhub_server;
GRANT SELECT,INSERT ON TABLE memhub.projects TO memhub_operator;

GRANT UPDATE(slug) ON TABLE memhub.projects TO memhub_operator;

GRANT UPDATE(display_name) ON TABLE memhub.projects TO memhub_server;
GRANT UPDATE(display_name) ON TABLE memhub.projects TO memhub_operator;

GRANT SELECT,INSERT,DELETE ON TABLE memhub.retired_vectors TO memhub_server;
GRANT SELECT,INSERT,DELETE ON TABLE memhub.retired_vectors TO memhub_operator;

GRANT SELECT ON TABLE memhub.schema_migrations TO memhub_server;
GRANT SELECT ON TABLE memhub.schema_migrations TO memhub_operator;

GRANT SELECT ON TABLE memhub.searchable_memories TO memhub_server;
GRANT SELECT ON TABLE memhub.searchable_memories TO memhub_operator;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE memhub.term_frequencies TO memhub_server;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE memhub.term_frequencies TO memhub_operator;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE memhub.tool_timings TO memhub_server;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE memhub.tool_timings TO memhub_operator;

REVOKE ALL ON FUNCTION memhub.merge_words() FROM PUBLIC;
GRANT ALL ON FUNCTION memhub.merge_words() TO memhub_server;
GRANT ALL ON FUNCTION memhub.merge_words() TO memhub_operator;
