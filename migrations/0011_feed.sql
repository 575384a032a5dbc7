-- The feed of changes asks for what became visible since a snapshot: events of transactions from its oldest open one on.
CREATE INDEX audit_events_by_transaction ON memhub.audit_events (transaction_id);
