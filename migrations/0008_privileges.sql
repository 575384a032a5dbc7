-- What servers and workers may do. Not granted: changing or deleting revisions, attestations and audit events,
-- and deleting a memory.
GRANT SELECT ON ALL TABLES IN SCHEMA memhub TO memhub_server, memhub_operator;

GRANT INSERT ON memhub.projects, memhub.project_aliases, memhub.memories, memhub.memory_revisions,
    memhub.live_memories, memhub.live_vectors, memhub.retired_vectors, memhub.attestations, memhub.embedding_work,
    memhub.embedding_models, memhub.idempotency_keys, memhub.audit_events, memhub.counter_deltas,
    memhub.memory_counters, memhub.term_frequencies TO memhub_server, memhub_operator;

GRANT UPDATE (display_name) ON memhub.projects TO memhub_server, memhub_operator;
GRANT UPDATE (status, revision_no, retired_at, retired_by, superseded_by) ON memhub.memories
    TO memhub_server, memhub_operator;
GRANT UPDATE (valid_to) ON memhub.memory_revisions TO memhub_server, memhub_operator;
GRANT UPDATE (leased_until, attempts, error) ON memhub.embedding_work TO memhub_server, memhub_operator;
GRANT UPDATE (state, floor, dimension) ON memhub.embedding_models TO memhub_server, memhub_operator;
GRANT UPDATE (response) ON memhub.idempotency_keys TO memhub_server, memhub_operator;
GRANT UPDATE ON memhub.memory_counters, memhub.term_frequencies TO memhub_server, memhub_operator;

GRANT DELETE ON memhub.live_memories, memhub.live_vectors, memhub.retired_vectors, memhub.embedding_work,
    memhub.idempotency_keys, memhub.counter_deltas, memhub.term_frequencies TO memhub_server, memhub_operator;

-- What purge empties.
GRANT UPDATE (content, content_hash, document, category, tags, source, reason, purged_at) ON memhub.memory_revisions
    TO memhub_operator;
GRANT UPDATE (details) ON memhub.audit_events TO memhub_operator;
GRANT UPDATE (category, tags, source) ON memhub.attestations TO memhub_operator;
GRANT UPDATE (fingerprint) ON memhub.idempotency_keys TO memhub_operator;
GRANT DELETE ON memhub.memory_counters TO memhub_operator;

-- What untie takes away.
GRANT DELETE ON memhub.project_aliases TO memhub_operator;

-- What rename changes: nothing but the name itself refers to a project by it.
GRANT UPDATE (slug) ON memhub.projects TO memhub_operator;

GRANT SELECT, INSERT, UPDATE, DELETE ON public.procrastinate_jobs, public.procrastinate_workers,
    public.procrastinate_periodic_defers, public.procrastinate_events TO memhub_server, memhub_operator;
GRANT USAGE ON SEQUENCE public.procrastinate_jobs_id_seq, public.procrastinate_periodic_defers_id_seq,
    public.procrastinate_events_id_seq TO memhub_server, memhub_operator;
