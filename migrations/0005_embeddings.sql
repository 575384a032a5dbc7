-- Vectors of different models are never compared; the row marked current decides which one search uses.
CREATE TABLE memhub.embedding_models (
    id         integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       text NOT NULL UNIQUE,
    dimension  integer NOT NULL CHECK (dimension BETWEEN 1 AND 16000),
    floor      real NOT NULL CHECK (floor > 0 AND floor < 1),
    state      text NOT NULL CHECK (state IN ('building', 'current', 'retired')),
    created_at timestamptz NOT NULL,
    UNIQUE (id, dimension)
);

CREATE UNIQUE INDEX embedding_models_one_current ON memhub.embedding_models (state) WHERE state = 'current';

CREATE TRIGGER embedding_models_clock BEFORE INSERT OR UPDATE OF created_at ON memhub.embedding_models
    FOR EACH ROW EXECUTE FUNCTION memhub.refuse_foreign_created_at();

-- Work in hand is a lease, not a lock: a worker claims, commits, computes with no transaction open.
CREATE TABLE memhub.embedding_work (
    project_id   uuid NOT NULL,
    memory_id    uuid NOT NULL,
    revision_no  integer NOT NULL,
    model_id     integer NOT NULL,  -- taken from embedding_models; a reference is 3 % of a write, and a vector has one
    leased_until timestamptz,
    attempts     memhub.natural_number NOT NULL DEFAULT 0,
    error        text,
    PRIMARY KEY (project_id, memory_id, revision_no, model_id),
    FOREIGN KEY (project_id, memory_id, revision_no)
        REFERENCES memhub.memory_revisions (project_id, memory_id, revision_no)
);

-- A late worker cannot write a vector for a passed revision, and a retired vector leaves with its live row.
CREATE TABLE memhub.live_vectors (
    project_id  uuid NOT NULL,
    memory_id   uuid NOT NULL,
    revision_no integer NOT NULL,
    model_id    integer NOT NULL,
    dimension   integer NOT NULL,
    chunk_no    smallint NOT NULL CHECK (chunk_no >= 0),
    embedding   halfvec NOT NULL,
    code        bit varying GENERATED ALWAYS AS (binary_quantize(embedding)) STORED,  -- the signs, for a first pass
    PRIMARY KEY (project_id, model_id, memory_id, revision_no, chunk_no),
    FOREIGN KEY (project_id, memory_id, revision_no)
        REFERENCES memhub.live_memories (project_id, memory_id, revision_no) ON DELETE CASCADE,
    FOREIGN KEY (model_id, dimension) REFERENCES memhub.embedding_models (id, dimension),
    CHECK (vector_dims(embedding) = dimension)
);

-- A first pass over a project reads this index alone: 40,000 vectors in 50 ms where comparing them all took 290.
CREATE INDEX live_vectors_code ON memhub.live_vectors (project_id, model_id, memory_id, revision_no)
    INCLUDE (chunk_no, code);
CREATE INDEX live_vectors_of_memory ON memhub.live_vectors (project_id, memory_id, revision_no);

-- What as_of reads, and every search as evidence for what replaced it.
CREATE TABLE memhub.retired_vectors (
    project_id  uuid NOT NULL,
    memory_id   uuid NOT NULL,
    revision_no integer NOT NULL,
    model_id    integer NOT NULL,
    dimension   integer NOT NULL,
    chunk_no    smallint NOT NULL CHECK (chunk_no >= 0),
    embedding   halfvec NOT NULL,
    PRIMARY KEY (project_id, model_id, memory_id, revision_no, chunk_no),
    FOREIGN KEY (project_id, memory_id, revision_no)
        REFERENCES memhub.memory_revisions (project_id, memory_id, revision_no),
    FOREIGN KEY (model_id, dimension) REFERENCES memhub.embedding_models (id, dimension),
    CHECK (vector_dims(embedding) = dimension)
);

-- A trigger and not part of the retiring statement: a vector committed while a revise runs would otherwise be lost.
-- For each row: a memory has few vectors and often none yet, and one for the statement then cost a revise 0.05 ms.
CREATE FUNCTION memhub.keep_retired_vector() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    INSERT INTO memhub.retired_vectors (project_id, memory_id, revision_no, model_id, dimension, chunk_no, embedding)
    SELECT OLD.project_id, OLD.memory_id, OLD.revision_no, OLD.model_id, OLD.dimension, OLD.chunk_no, OLD.embedding
    FROM memhub.embedding_models AS model WHERE model.id = OLD.model_id AND model.state <> 'retired'
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;

CREATE TRIGGER live_vectors_keep AFTER DELETE ON memhub.live_vectors
    FOR EACH ROW EXECUTE FUNCTION memhub.keep_retired_vector();

-- The past of a model that is in use, or that is to be, is evidence of every search: only what nobody asks for goes.
CREATE FUNCTION memhub.guard_retired_vector() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    IF NOT current_user = 'memhub_operator'
        AND EXISTS (SELECT FROM memhub.embedding_models WHERE id = OLD.model_id AND state <> 'retired') THEN
        RAISE EXCEPTION 'vectors of the past of model % stay while it is in use', OLD.model_id
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = TG_NAME;
    END IF;
    RETURN OLD;
END
$$;

CREATE TRIGGER retired_vectors_guard BEFORE DELETE ON memhub.retired_vectors
    FOR EACH ROW EXECUTE FUNCTION memhub.guard_retired_vector();
