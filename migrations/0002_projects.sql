CREATE TABLE memhub.projects (
    id           uuid PRIMARY KEY,
    tenant       text COLLATE "C" NOT NULL CHECK (tenant ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$'),
    slug         text COLLATE "C" NOT NULL CHECK (slug ~ '^[a-z0-9][a-z0-9._-]{0,62}[a-z0-9]$'),
    display_name text CHECK (octet_length(display_name) BETWEEN 1 AND 256),
    created_at   timestamptz NOT NULL,
    UNIQUE (tenant, slug),
    UNIQUE (id, tenant)
);

CREATE TRIGGER projects_clock BEFORE INSERT OR UPDATE OF created_at ON memhub.projects
    FOR EACH ROW EXECUTE FUNCTION memhub.refuse_foreign_created_at();

-- A name that the outside knows a project by. It leads to one project of its tenant only.
CREATE TABLE memhub.project_aliases (
    tenant     text COLLATE "C" NOT NULL,
    kind       text NOT NULL CHECK (kind IN ('git_remote', 'workspace_path')),
    value      text COLLATE "C" NOT NULL CHECK (octet_length(value) BETWEEN 1 AND 1024),
    project_id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, kind, value),
    FOREIGN KEY (project_id, tenant) REFERENCES memhub.projects (id, tenant)
);

CREATE INDEX project_aliases_project ON memhub.project_aliases (project_id);

CREATE TRIGGER project_aliases_clock BEFORE INSERT OR UPDATE OF created_at ON memhub.project_aliases
    FOR EACH ROW EXECUTE FUNCTION memhub.refuse_foreign_created_at();
