-- Credentials of callers over HTTP. The secret itself is nowhere: it has 256 random bits, so that one round of a fast
-- hash is enough and a lookup by it tells nothing.
CREATE TABLE memhub.api_tokens (
    id           uuid PRIMARY KEY,
    tenant       text COLLATE "C" NOT NULL CHECK (tenant ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$'),
    project_id   uuid,  -- NULL: all projects of the tenant
    name         text NOT NULL CHECK (octet_length(name) BETWEEN 1 AND 128),
    hash         bytea NOT NULL UNIQUE CHECK (octet_length(hash) = 32),
    read_only    boolean NOT NULL,
    expires_at   timestamptz CONSTRAINT api_tokens_expiry CHECK (expires_at > created_at),
    revoked_at   timestamptz CHECK (revoked_at >= created_at),
    last_used_at timestamptz CHECK (last_used_at >= created_at),
    created_at   timestamptz NOT NULL,
    FOREIGN KEY (project_id, tenant) REFERENCES memhub.projects (id, tenant)
);

CREATE INDEX api_tokens_of_tenant ON memhub.api_tokens (tenant, created_at);

CREATE TRIGGER api_tokens_clock BEFORE INSERT OR UPDATE OF created_at ON memhub.api_tokens
    FOR EACH ROW EXECUTE FUNCTION memhub.refuse_foreign_created_at();

-- A server can neither make a token nor bring one back.
GRANT SELECT ON memhub.api_tokens TO memhub_server, memhub_operator;
GRANT UPDATE (last_used_at) ON memhub.api_tokens TO memhub_server;
GRANT INSERT, UPDATE (revoked_at) ON memhub.api_tokens TO memhub_operator;
